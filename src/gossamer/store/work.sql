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
WHERE records > 1 AND NOT EXISTS (
    SELECT 1 FROM work w
    WHERE w.volume_id = segments.id AND w.view = :view AND w.first = 1 AND w.beyond = records
        AND w.leased_by IS NULL AND w.set_aside_at IS NULL)
ORDER BY id;
