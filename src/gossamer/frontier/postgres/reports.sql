-- ledger: What every host that was visited was promised, and what it got.
SELECT name, visits, gap, least_gap, rested, visits - 1, broken FROM hosts WHERE visits > 0 ORDER BY name;

-- hosts: How hosts stand, all of them or the one named.
SELECT h.name,
    (SELECT count(*) FROM queue q WHERE q.host_id = h.id AND q.lane = ANY('{0,1}'::smallint[])) AS queued,
    h.held, (SELECT count(*) FROM errands e WHERE e.host_id = h.id) AS errands, h.is_leased AS leased,
    h.is_leased AS has_back_queue, h.band, h.next_at, h.ready_at,
    (SELECT min(later_at) FROM queue q
        WHERE q.host_id = h.id AND q.lane = ANY('{0,1}'::smallint[]) AND q.later_at > 0) AS later_at,
    h.gap, (SELECT max(crawl_delay_s) FROM robots r WHERE r.host_id = h.id) AS crawl_delay_s, h.troubles, h.failing,
    h.failing_since, h.retired_at, h.retired_why, h.visits, h.spent, h.linked_from
FROM hosts h WHERE %(host)s::text IS NULL OR h.name = %(host)s ORDER BY h.name;

-- templates: What was learned of every host's patterns, or of one host's.
SELECT h.name, t.template, t.fetched, t.fruitful, t.held, t.quarantined_at
FROM templates t JOIN hosts h ON h.id = t.host_id
WHERE %(host)s::text IS NULL OR h.name = %(host)s ORDER BY h.name, t.template;

-- queued: Every address that waits, and its depth; those in quarantine are not among them.
SELECT a.url, a.depth FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.lane = ANY('{0,1}'::smallint[]);

-- workers: Crawlers that are at work, and until when each will be believed to be.
SELECT name, alive_until FROM workers WHERE alive_until IS NOT NULL ORDER BY name;
