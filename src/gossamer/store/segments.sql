-- next_number: The number of a new segment; no other node gets it.
SELECT nextval('segment_numbers');

-- object_added: A new object of the archive storage; nothing if its name was used before.
INSERT INTO objects (name, bytes, made_at) VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (name) DO NOTHING;

-- segment_added: A new segment, alone in its object. A repeated transaction finds it there.
INSERT INTO segments (name, object, base, bytes, records, digest, put_at)
VALUES (?1, ?1, 0, ?2, ?3, ?4, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) ON CONFLICT (owner, name) DO NOTHING;

-- segment: Where a segment is.
SELECT name, object, base, bytes, records, digest FROM segments WHERE name = ?;

-- segments_in: The segments in an object, in order.
SELECT name, object, base, bytes, records, digest FROM segments WHERE object = ? ORDER BY base;

-- segments: The names of all segments that were settled, in order.
SELECT name FROM segments WHERE settled_at IS NOT NULL ORDER BY name;

-- is_indexed: Whether no view waits for a segment.
SELECT 1 FROM segments v WHERE v.name = ? AND EXISTS (SELECT 1 FROM work w WHERE w.volume_id = v.id);

-- try_lock: Become the one node that does a job, until the connection ends.
SELECT pg_try_advisory_lock(hashtext('gossamer ' || ?1::text || current_setting('search_path')));

-- lock: The same, after the node that does it now.
SELECT pg_advisory_lock(hashtext('gossamer ' || ?1::text || current_setting('search_path')));

-- unlock: The job is done for now.
SELECT pg_advisory_unlock(hashtext('gossamer ' || ?1::text || current_setting('search_path')));

-- to_join: Objects that are small, in the order of their names.
SELECT name, bytes FROM objects
WHERE retired_at IS NULL AND damage IS NULL AND bytes < ?1 AND name > ?2
    AND made_at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - ?3
    AND NOT EXISTS (SELECT 1 FROM segments WHERE object = objects.name AND settled_at IS NULL)
    AND EXISTS (SELECT 1 FROM segments WHERE object = objects.name)
ORDER BY name LIMIT ?4;

-- moved: A segment is in another object now; nothing if it was moved meanwhile.
UPDATE segments SET object = ?1, base = ?2 WHERE name = ?3 AND object = ?4 AND base = ?5;

-- retired: No segment is in an object any more.
UPDATE objects SET retired_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint WHERE name = ?;

-- outdated: Objects that no segment has been in for so many microseconds.
SELECT name FROM objects
WHERE retired_at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - ?1 AND removed_at IS NULL ORDER BY retired_at LIMIT ?2;

-- object_dropped: An object whose segments are in another now is deleted.
DELETE FROM objects WHERE name = ? AND retired_at IS NOT NULL AND NOT is_given_up;

-- object_removed: One whose name was given up is deleted; the name stays.
UPDATE objects SET removed_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
WHERE name = ? AND is_given_up;

-- given_up: Its segment was never settled.
UPDATE objects SET is_given_up = true, retired_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
WHERE name = ?;

-- unsettled_dropped: Segments whose captures were not acknowledged for so many microseconds: their node has died. A node
-- that was only frozen finds the row missing when it settles, and writes them again.
DELETE FROM segments WHERE settled_at IS NULL
    AND put_at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - ?1
RETURNING object;

-- known_objects: Which of these names are objects that we know.
SELECT name FROM objects WHERE name = ANY(?1::text[]);

-- forgotten: A name that nobody may use for a new object any more: what is stored under it is deleted later.
INSERT INTO objects (name, bytes, made_at, retired_at, is_given_up)
SELECT ?1, 0, now.at, now.at, true FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at) AS now
ON CONFLICT (name) DO NOTHING;

-- to_check: Objects that were not compared with the digests of their segments for so many microseconds.
SELECT name FROM objects
WHERE retired_at IS NULL
    AND coalesce(checked_at, made_at) < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - ?1
ORDER BY checked_at NULLS FIRST LIMIT ?2;

-- checked: It was compared; what was found, or nothing.
UPDATE objects SET checked_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, damage = ?2
WHERE name = ?1 AND retired_at IS NULL;

-- damages: Objects with damage that was found.
SELECT name, damage FROM objects WHERE damage IS NOT NULL AND retired_at IS NULL ORDER BY name;

-- is_retired: Whether the name of an object was given up.
SELECT 1 FROM objects WHERE name = ? AND retired_at IS NOT NULL;

-- settled: The captures of a segment are acknowledged.
UPDATE segments SET settled_at = coalesce(settled_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
WHERE name = ?;

-- work_added: A view has to take them.
INSERT INTO work (volume_id, view, first, beyond, added_at)
SELECT id, ?2, 1, records, settled_at FROM segments WHERE name = ?1;
