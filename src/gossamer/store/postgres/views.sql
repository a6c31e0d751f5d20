-- The shared database in the shape of state.db, so that the same statements read both. Every migration
-- makes these views again, in a schema of their own, which readers put first in their search path. Columns that
-- state.db stores and that are counted here (queued, errands, later_at) cost a look at the queue of each host listed.
CREATE SCHEMA {views};

CREATE VIEW {views}.tallies AS SELECT name, sum(number)::bigint AS number FROM tally_slots GROUP BY name;

CREATE VIEW {views}.volumes AS
SELECT id, name, owner FROM volumes WHERE owner = coalesce(current_setting('gossamer.owner', true), '');

CREATE VIEW {views}.segments AS
SELECT id, name, owner, object, base, bytes, records, digest, put_at, settled_at FROM volumes
WHERE owner = coalesce(current_setting('gossamer.owner', true), '') AND object IS NOT NULL;

CREATE VIEW {views}.captures AS SELECT * FROM captures WHERE volume_id IN (SELECT id FROM {views}.volumes);

CREATE VIEW {views}.damage AS
SELECT * FROM damage WHERE owner = coalesce(current_setting('gossamer.owner', true), '');

CREATE VIEW {views}.hosts AS
SELECT h.id, h.name, 3 AS lanes,
    (SELECT count(*) FROM queue q WHERE q.host_id = h.id AND q.lane = ANY('{0,1}'::smallint[]))
        + (SELECT count(*) FROM errands e WHERE e.host_id = h.id) AS queued,
    (SELECT count(*) FROM errands e WHERE e.host_id = h.id) AS errands,
    h.is_leased AS leased, h.is_leased AS in_back, h.band, h.next_at, h.ready_at,
    (SELECT min(later_at) FROM queue q
        WHERE q.host_id = h.id AND q.lane = ANY('{0,1}'::smallint[]) AND q.later_at > 0) AS later_at,
    h.gap, (SELECT max(crawl_delay_s) FROM robots r WHERE r.host_id = h.id) AS crawl_delay_s, h.troubles, h.failing,
    h.failing_since, h.retired_at, h.retired_why, h.visits, h.left_at, h.least_gap, greatest(h.visits - 1, 0) AS rests,
    h.rested, h.broken, h.spent, h.linked_from, h.held
FROM hosts h;

CREATE VIEW {views}.addresses AS
SELECT host_id, id, (url LIKE 'https:%')::integer AS lane, substring(url FROM '^[^/]*//[^/]*/(.*)$') AS text,
    CASE how WHEN 'seed' THEN 0 WHEN 'link' THEN 1 WHEN 'redirect' THEN 2 WHEN 'sitemap' THEN 3 WHEN 'feed' THEN 4
        WHEN 'robots' THEN 5 ELSE 6 END AS how,
    nullif(source_host_id, host_id) AS source_host_id, source_id, depth, hops
FROM addresses;

CREATE VIEW {views}.ends AS
SELECT host_id, id, reason_code(reason) AS reason, failures, settled_at, due_at, detail
FROM addresses WHERE reason IS NOT NULL;

CREATE VIEW {views}.failures AS SELECT host_id, id, at, reason_code(reason) AS reason, detail FROM failures;

CREATE FUNCTION {views}.instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT strpos($1, $2)';
