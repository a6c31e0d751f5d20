-- addresses_locked: No transaction that adds URLs is in progress, and none begins before this one ends.
LOCK TABLE addresses IN SHARE ROW EXCLUSIVE MODE;

-- host_to_forget: A host, locked.
SELECT is_leased, visiting, retired_at IS NOT NULL FROM hosts WHERE id = %(host_id)s FOR UPDATE;

-- urls_at: The known URLs of a host.
SELECT id, url FROM addresses WHERE host_id = %(host_id)s;

-- fenced: The lease of a host is taken from its crawler; something may just have been sent there, so it rests.
UPDATE hosts SET is_leased = false, visiting = NULL, lease = lease + 1,
    next_at = greatest(next_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + gap),
    ready_at = CASE WHEN retired_at IS NULL
        THEN greatest(next_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + gap) END
WHERE id = %(host_id)s;

-- unqueued_for_good: URLs are deleted from the queue,
DELETE FROM queue WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]) RETURNING id, lane;

-- urls_forgotten: from the known URLs,
DELETE FROM addresses WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]) RETURNING reason;

-- pasts_forgotten: from what is remembered about pages,
DELETE FROM revisits WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- said_forgotten: from what sitemaps and feeds say,
DELETE FROM said WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- failures_forgotten: and from the earlier failures.
DELETE FROM failures WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- templates_forgotten: Templates are deleted.
DELETE FROM templates WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- templates_of: The templates of a host are deleted,
DELETE FROM templates WHERE host_id = %(host_id)s;

-- robots_of: its robots.txt,
DELETE FROM robots WHERE host_id = %(host_id)s;

-- errands_of: every robots.txt request from it or for it,
DELETE FROM errands WHERE host_id = %(host_id)s OR for_host_id = %(host_id)s;

-- mail_of: its mail,
DELETE FROM mail WHERE host_id = %(host_id)s;

-- host_forgotten: and the host.
DELETE FROM hosts WHERE id = %(host_id)s;

-- hosts_kept: What is remembered of hosts for politeness, unless they were visited from here.
UPDATE hosts SET band = c.band, is_over = c.band = %(last)s, next_at = greatest(hosts.next_at, c.next_at), gap = c.gap,
    troubles = c.troubles, failing = c.failing, failing_since = c.failing_since, retired_at = c.retired_at,
    retired_why = c.retired_why, visits = c.visits, left_at = c.left_at, least_gap = c.least_gap, rested = c.rested,
    broken = c.broken, spent = c.spent, linked_from = hosts.linked_from | c.linked_from
FROM unnest(%(ids)s::bigint[], %(bands)s::smallint[], %(next_ats)s::bigint[], %(gaps)s::bigint[],
    %(troubles)s::integer[], %(failing)s::integer[], %(failing_since)s::bigint[], %(retired_ats)s::bigint[],
    %(retired_whys)s::text[], %(visits)s::bigint[], %(left_ats)s::bigint[], %(least_gaps)s::bigint[],
    %(rested)s::bigint[], %(broken)s::integer[], %(spent)s::bigint[], %(linked_from)s::bigint[])
    AS c (id, band, next_at, gap, troubles, failing, failing_since, retired_at, retired_why, visits, left_at,
        least_gap, rested, broken, spent, linked_from)
WHERE hosts.id = c.id AND hosts.visits = 0 AND NOT hosts.is_leased
    AND (hosts.retired_at IS NULL OR c.retired_at IS NOT NULL)
RETURNING hosts.id, c.retired_at IS NOT NULL;

-- hosts_retired: Those of these hosts that are retired.
SELECT id FROM hosts WHERE id = ANY(%(ids)s::bigint[]) AND retired_at IS NOT NULL;

-- superseded: URLs that wait here, but were visited later elsewhere: their places in the queue. Leased ones stay.
DELETE FROM queue q USING unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(settled_ats)s::bigint[])
    AS given (host_id, id, settled_at), addresses a, hosts h
WHERE a.host_id = given.host_id AND a.id = given.id AND h.id = given.host_id AND a.is_queued
    AND given.settled_at > coalesce(a.settled_at, 0) AND NOT (h.is_leased AND h.visiting = a.id)
    AND q.host_id = a.host_id AND q.id = a.id
RETURNING q.host_id, q.id, q.lane;

-- unqueued_again: They wait no longer.
UPDATE addresses a SET is_queued = false
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS given (host_id, id)
WHERE a.host_id = given.host_id AND a.id = given.id;

-- known_urls: Known URLs, which do not wait yet, with their last results; a later result stays. Returns what was new,
-- and the results before and now.
WITH given AS (
    SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(urls)s::text[], %(hows)s::text[],
        %(source_host_ids)s::bigint[], %(source_ids)s::bigint[], %(depths)s::integer[], %(hops)s::smallint[],
        %(reasons)s::text[], %(failures)s::smallint[], %(settled_ats)s::bigint[], %(due_ats)s::bigint[],
        %(details)s::text[])
        AS g (host_id, id, url, how, source_host_id, source_id, depth, hops, reason, failures, settled_at, due_at, detail)
), before AS (
    SELECT a.host_id, a.id, a.reason FROM addresses a JOIN given ON a.host_id = given.host_id AND a.id = given.id
), written AS (
    INSERT INTO addresses AS a (host_id, id, url, how, source_host_id, source_id, depth, hops, reason, failures,
        settled_at, due_at, detail, is_queued)
    SELECT host_id, id, url, how, source_host_id, source_id, depth, hops, reason, coalesce(failures, 0), settled_at,
        due_at, detail, false
    FROM given ORDER BY host_id, id
    ON CONFLICT (host_id, id) DO UPDATE SET reason = excluded.reason, failures = excluded.failures,
        settled_at = excluded.settled_at, due_at = excluded.due_at, detail = excluded.detail
    WHERE NOT a.is_queued AND excluded.settled_at > coalesce(a.settled_at, 0)
    RETURNING host_id, id, reason
)
SELECT written.host_id, written.id, before.id IS NULL, before.reason, written.reason
FROM written LEFT JOIN before ON before.host_id = written.host_id AND before.id = written.id;

-- queued_as_before: Known URLs wait, if their last result here is the one they were queued after.
WITH given AS (
    SELECT * FROM unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(later_ats)s::bigint[],
        %(priorities)s::integer[], %(sequences)s::bigint[], %(ids)s::bigint[], %(settled_ats)s::bigint[])
        AS g (host_id, lane, later_at, priority, sequence, id, settled_at)
), woken AS (
    UPDATE addresses a SET is_queued = true FROM given
    WHERE a.host_id = given.host_id AND a.id = given.id AND NOT a.is_queued
        AND a.settled_at IS NOT DISTINCT FROM given.settled_at
    RETURNING a.host_id, a.id
)
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT host_id, lane, later_at, priority, sequence, id FROM given JOIN woken USING (host_id, id)
RETURNING host_id, lane, priority;

-- said_before: What sitemaps and feeds say about URLs.
INSERT INTO said (host_id, id, changed_at, every_s)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(changed_ats)s::bigint[], %(every_s)s::bigint[])
ON CONFLICT (host_id, id) DO NOTHING;

-- failed_before: Earlier failures.
INSERT INTO failures (host_id, id, at, reason, detail)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(ats)s::bigint[], %(reasons)s::text[],
    %(details)s::text[])
ON CONFLICT DO NOTHING;

-- templates_kept: What the URLs of templates have brought, unless that is known here.
INSERT INTO templates (host_id, id, template, fetched, fruitful, held, quarantined_at)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(templates)s::text[], %(fetched)s::bigint[],
    %(fruitful)s::bigint[], %(held)s::bigint[], %(quarantined_ats)s::bigint[])
ON CONFLICT (host_id, id) DO NOTHING;

-- robots_kept_before: A robots.txt, unless one is known here.
INSERT INTO robots (host_id, lane, version, crawl_delay_s, entry)
SELECT host_id, lane, nextval('robots_versions'), delay, entry
FROM unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(delays)s::double precision[], %(entries)s::bytea[])
    AS r (host_id, lane, delay, entry)
ON CONFLICT (host_id, lane) DO NOTHING;
