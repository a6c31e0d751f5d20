-- hosts_still: Those of these hosts that nobody is busy with at this moment; locked.
SELECT id FROM hosts WHERE id = ANY(%(hosts)s::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED;

-- pasts_of: What is remembered of these pages.
SELECT r.host_id, r.id, r.past FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS asked (host_id, id)
JOIN revisits r ON r.host_id = asked.host_id AND r.id = asked.id;

-- pasts_noted: What is to be remembered of them from now on.
UPDATE revisits SET past = n.past
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(pasts)s::bytea[]) AS n (host_id, id, past)
WHERE revisits.host_id = n.host_id AND revisits.id = n.id;

-- moved_sooner: A page that waits for a later time waits for another one, and its row says so. A visit that is out is in
-- no such row of the queue. REQUIRES: its host is locked.
WITH page AS (
    SELECT due_at FROM addresses WHERE host_id = %(host_id)s AND id = %(id)s AND is_queued AND due_at > %(due_at)s
), moved AS (
    UPDATE queue SET later_at = %(due_at)s FROM page
    WHERE host_id = %(host_id)s AND lane = %(lane)s::smallint AND later_at = greatest(1, page.due_at) AND id = %(id)s
    RETURNING id
)
UPDATE addresses SET due_at = %(due_at)s FROM moved
WHERE addresses.host_id = %(host_id)s AND addresses.id = moved.id;

-- hosts_sooner: Their hosts have something due by then; one on lease looks at its queue when it is settled.
UPDATE hosts SET ready_at = least(greatest(next_at, s.due_at), coalesce(ready_at, greatest(next_at, s.due_at)))
FROM unnest(%(hosts)s::bigint[], %(due_ats)s::bigint[]) AS s (id, due_at)
WHERE hosts.id = s.id AND NOT is_leased AND retired_at IS NULL;

-- plans: How many pages wait for each day at each host.
SELECT h.name, (q.later_at - %(ahead)s) / %(day)s, count(*)
FROM queue q JOIN hosts h ON h.id = q.host_id
WHERE q.lane = ANY('{0,1}'::smallint[]) AND q.later_at > 0
GROUP BY h.name, (q.later_at - %(ahead)s) / %(day)s;
