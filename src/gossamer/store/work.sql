-- backlog: By view, what waits for it: new records and those of a rebuild, since when, and what was set aside.
SELECT view,
    coalesce(sum(beyond - first) FILTER (WHERE set_aside_at IS NULL AND NOT is_rebuild), 0)::bigint,
    coalesce(sum(beyond - first) FILTER (WHERE set_aside_at IS NULL AND is_rebuild), 0)::bigint,
    min(added_at) FILTER (WHERE set_aside_at IS NULL AND NOT is_rebuild),
    greatest(0, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint
        - min(added_at) FILTER (WHERE set_aside_at IS NULL AND NOT is_rebuild)),
    count(*) FILTER (WHERE set_aside_at IS NOT NULL)
FROM work GROUP BY view ORDER BY view;

-- set_aside: What failed too often, the latest first.
SELECT volumes.name, view, first, beyond, set_aside_at, why
FROM work JOIN volumes ON volumes.id = volume_id
WHERE set_aside_at IS NOT NULL
ORDER BY set_aside_at DESC, work.id LIMIT :at_most;

-- retried: What was set aside is tried again.
UPDATE work SET set_aside_at = NULL, why = NULL, tries = 0, leased_by = NULL, leased_until = NULL
WHERE set_aside_at IS NOT NULL;

-- added_again: A view gets every record again. Rows that wait already stay as they are.
INSERT INTO work (volume_id, view, first, beyond, added_at, is_rebuild)
SELECT id, :view, 1, records, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint, TRUE
FROM segments
WHERE records > 1 AND settled_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM work w
    WHERE w.volume_id = segments.id AND w.view = :view AND w.first = 1 AND w.beyond = records
        AND w.leased_by IS NULL AND w.set_aside_at IS NULL)
ORDER BY id;

-- leased: Rows of a view for one indexer, the oldest first. Those that failed before are taken a few at a time and then
-- one by one, so that a segment that kills indexers is found out; a lease that ran out is such a failure.
WITH free AS (
    SELECT id, beyond - first AS records, tries + (leased_by IS NOT NULL)::integer AS failed
    FROM work
    WHERE view = :view AND set_aside_at IS NULL
        AND (leased_until IS NULL OR leased_until < (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
    ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED
), counted AS (
    SELECT id, failed, row_number() OVER (ORDER BY id) AS place, first_value(failed) OVER (ORDER BY id) AS wanted,
        sum(records) OVER (ORDER BY id) - records AS before
    FROM free
)
UPDATE work SET tries = counted.failed, leased_by = :by,
    leased_until = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + :lasting
FROM counted
WHERE work.id = counted.id AND failed = wanted AND (place = 1 OR before < :records)
    AND place <= CASE wanted WHEN 0 THEN :most WHEN 1 THEN greatest(1, :most / 8) ELSE 1 END
RETURNING work.id, volume_id, (SELECT name FROM volumes WHERE volumes.id = volume_id), view, first, beyond, is_rebuild,
    tries, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint - added_at;

-- leased_with: Rows of other views for segments that are read anyway.
WITH free AS (
    SELECT id FROM work
    WHERE view = ANY(:views) AND volume_id = ANY(:volumes) AND set_aside_at IS NULL AND tries = 0 AND leased_by IS NULL
        AND (leased_until IS NULL OR leased_until < (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE work SET leased_by = :by,
    leased_until = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + :lasting
FROM free WHERE work.id = free.id
RETURNING work.id, volume_id, (SELECT name FROM volumes WHERE volumes.id = volume_id), view, first, beyond, is_rebuild,
    tries, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint - added_at;

-- renewed: An indexer still works on these.
UPDATE work SET leased_until = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + :lasting
WHERE id = ANY(:ids) AND leased_by = :by;

-- released: An indexer gives these back; others may have them from a moment on.
UPDATE work SET leased_by = NULL,
    leased_until = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + :after
WHERE id = ANY(:ids) AND leased_by = :by;

-- failed: A view could not take some records of a row: only these are tried again, or set aside.
UPDATE work SET first = :first, beyond = :beyond, tries = tries + 1, why = :why, leased_by = NULL,
    leased_until = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + :after * (tries + 1),
    set_aside_at = CASE WHEN tries + 1 >= :most_tries
        THEN (extract(epoch FROM statement_timestamp()) * 1000000)::bigint END
WHERE id = :id AND (leased_by = :by OR leased_by IS NULL)
RETURNING set_aside_at IS NOT NULL;

-- locked: Of these segments, one indexer at a time finishes work.
SELECT id FROM volumes WHERE id = ANY(:volumes) ORDER BY id FOR NO KEY UPDATE;

-- done: A view has these pages for good, no matter which indexer leased the rows meanwhile.
DELETE FROM work WHERE id = ANY(:ids);

-- finished: Those of these segments that no view waits for any more.
SELECT name FROM volumes
WHERE id = ANY(:volumes) AND NOT EXISTS (SELECT 1 FROM work WHERE work.volume_id = volumes.id);

-- catalogued: The captures of these segments. A later capture of a page with a body replaces it in every view.
SELECT volume_id, number, "offset", length, version, is_unread,
    EXISTS (SELECT 1 FROM captures l WHERE l.host_id = c.host_id AND l.url_id = c.url_id AND l.url = c.url
        AND l.is_page AND l.refers_at IS NULL AND l.version > c.version)
FROM captures c WHERE volume_id = ANY(:volumes);

-- was_page_before: Whether an earlier capture of the URL was a page.
SELECT 1 FROM volumes v JOIN captures c ON c.volume_id = v.id AND c.number = :number
    JOIN captures e ON e.host_id = c.host_id AND e.url_id = c.url_id AND e.url = c.url
WHERE v.name = :volume AND e.is_page AND e.version < c.version LIMIT 1;

-- captures_locked: Until the end of the transaction no capture is settled; those in progress are waited for.
LOCK TABLE captures IN SHARE MODE;

-- next_version: A version between those of all captures so far and all later ones.
SELECT nextval('capture_versions');

-- page_ids: Of all pages with captures, in order.
SELECT DISTINCT url_id FROM captures WHERE is_page ORDER BY url_id;

-- pages_among: Which of these URLs are pages with captures.
SELECT DISTINCT c.url FROM unnest(:hosts::bigint[], :ids::bigint[]) AS asked (host_id, url_id)
JOIN captures c ON c.host_id = asked.host_id AND c.url_id = asked.url_id
WHERE c.is_page;
