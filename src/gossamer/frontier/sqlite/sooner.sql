-- past: What is remembered of a page that comes again.
SELECT past FROM revisits WHERE host_id = ? AND id = ?;

-- past_noted: What is to be remembered of it from now on.
UPDATE revisits SET past = ? WHERE host_id = ? AND id = ?;

-- waits_until: The lane of an address, and when it comes again.
SELECT a.lane, e.due_at FROM addresses a JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE a.host_id = ? AND a.id = ?;

-- queued_sooner: A page that waits for a later time waits for another one. A visit that is out is in no such row.
UPDATE queue SET later_at = ?1 WHERE host_id = ?2 AND lane = ?3 AND later_at = ?4 AND id = ?5;

-- end_sooner: And its end says so.
UPDATE ends SET due_at = ? WHERE host_id = ? AND id = ?;

-- host_sooner: Its host has something due by then; in a back queue, or on lease, it is looked at anyway.
UPDATE hosts SET later_at = min(?1, coalesce(later_at, ?1)),
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL THEN ready_at
        ELSE min(max(next_at, ?1), coalesce(ready_at, max(next_at, ?1))) END
WHERE id = ?2;

-- plans: How many pages wait for each day at each host. A page that is due already is in no such row.
SELECT h.name, q.later_at / :day, count(*)
FROM hosts h JOIN queue q ON q.host_id = h.id AND q.lane IN (0, 1) AND q.later_at > 0
WHERE h.later_at IS NOT NULL
GROUP BY h.id, q.later_at / :day;
