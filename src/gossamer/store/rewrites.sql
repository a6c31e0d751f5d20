-- object_new: A new object of the archive storage.
INSERT INTO objects (name, bytes, made_at) VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (name) DO NOTHING;

-- segment_new: A segment in a new object.
INSERT INTO segments (name, object, base, bytes, records, digest, put_at)
VALUES (?, ?, ?, ?, ?, ?, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) RETURNING id;

-- work_is_old: What views have to take of these segments is no news: crawls need not wait for it.
UPDATE work SET is_rebuild = true WHERE volume_id IN (SELECT id FROM volumes WHERE name = ANY(?1::text[]));

-- versions_before: Captures of these segments that were made before others in the catalogue get earlier versions.
UPDATE captures c SET version = l.first - 1
FROM (
    SELECT e.host_id, e.url_id, e.fetched_at, min(l.version) AS first
    FROM captures e JOIN captures l
        ON l.host_id = e.host_id AND l.url_id = e.url_id AND l.url = e.url AND l.fetched_at > e.fetched_at
    WHERE e.volume_id IN (SELECT id FROM volumes WHERE name = ANY(?1::text[])) AND l.version <= e.version
    GROUP BY e.host_id, e.url_id, e.fetched_at
) AS l
WHERE c.host_id = l.host_id AND c.url_id = l.url_id AND c.fetched_at = l.fetched_at;

-- known_moments: Those of these captures that are in the catalogue.
SELECT place FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[])
    AS asked (place, host_id, url_id, fetched_at)
WHERE EXISTS (SELECT 1 FROM captures c
    WHERE c.host_id = asked.host_id AND c.url_id = asked.url_id AND c.fetched_at = asked.fetched_at);

-- captures_at: The captures of a host.
SELECT url_id, url, fetched_at, volume_id, is_page FROM captures WHERE host_id = ? ORDER BY url_id, url, fetched_at;

-- captures_dropped: Captures leave the catalogue.
DELETE FROM captures c USING unnest(?1::bigint[], ?2::bigint[], ?3::bigint[]) AS o (host_id, url_id, fetched_at)
WHERE c.host_id = o.host_id AND c.url_id = o.url_id AND c.fetched_at = o.fetched_at
RETURNING c.volume_id;

-- rewrite_asked: Their segments are to be rewritten.
INSERT INTO rewrites (volume_id, asked_at)
SELECT v, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM unnest(?1::bigint[]) AS v
WHERE v IN (SELECT id FROM segments)
ON CONFLICT (volume_id) DO NOTHING;

-- removal_asked: Pages are to be removed from the views.
INSERT INTO removals (url) SELECT * FROM unnest(?1::text[]) ON CONFLICT (md5(url)) DO NOTHING;

-- withdrawn_gone: Pages that are gone were not counted if they could not be found.
DELETE FROM withdrawn w USING unnest(?1::bigint[], ?2::bigint[], ?3::text[]) AS o (host_id, url_id, url)
WHERE w.host_id = o.host_id AND w.url_id = o.url_id AND w.url = o.url;

-- origins_gone: Where their facts were.
DELETE FROM origins WHERE id = ANY(?1::bigint[]);

-- damage_gone: Marks on records that are not in the catalogue any more.
DELETE FROM damage d WHERE d.capture_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM captures c JOIN volumes v ON v.id = c.volume_id WHERE v.name = d.volume AND c.number = d.number);

-- work_leased: Work on segments that are to be rewritten which an indexer does at this moment.
SELECT id, leased_by FROM work
WHERE volume_id IN (SELECT volume_id FROM rewrites)
    AND leased_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AND leased_by IS NOT NULL;

-- work_still: How much of that is still being done.
SELECT count(*) FROM work w JOIN unnest(?1::bigint[], ?2::text[]) AS o (id, leased_by) ON w.id = o.id
WHERE w.leased_by = o.leased_by AND w.leased_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- removals: Pages that are to be removed from the views.
SELECT id, url FROM removals WHERE id > ?1 ORDER BY id LIMIT ?2;

-- removals_done: They are.
DELETE FROM removals;

-- next_version: Greater than that of every capture so far.
SELECT nextval('capture_versions');

-- rewritable: The next object with segments that are to be rewritten.
SELECT v.object FROM rewrites r JOIN segments v ON v.id = r.volume_id ORDER BY v.object LIMIT 1;

-- rewrites_left: How many segments are to be rewritten, and in how many objects.
SELECT count(*), count(DISTINCT v.object) FROM rewrites r JOIN segments v ON v.id = r.volume_id;

-- to_rewrite: Those in an object.
SELECT v.name FROM rewrites r JOIN segments v ON v.id = r.volume_id WHERE v.object = ?;

-- locked: The segments in an object, which nothing moves before this transaction ends.
SELECT name FROM segments WHERE object = ? ORDER BY base FOR UPDATE;

-- moved_whole: A segment is in another object now.
UPDATE segments SET object = ?1, base = ?2 WHERE name = ?3 AND object = ?4;

-- replaced_by: The captures of a segment are in another one.
UPDATE captures c SET volume_id = ?1, number = o.number, "offset" = o."offset"
FROM unnest(?3::bigint[], ?4::bigint[], ?5::bigint[]) AS o (old, number, "offset")
WHERE c.volume_id = ?2 AND c.number = o.old;

-- segment_settled: And so is what the views have to take.
UPDATE segments SET settled_at = (SELECT settled_at FROM segments WHERE id = ?2) WHERE id = ?1;

-- work_taken_on: See above.
INSERT INTO work (volume_id, view, first, beyond, added_at, is_rebuild)
SELECT ?1, view, 1, ?3, min(added_at), bool_and(is_rebuild) FROM work WHERE volume_id = ?2 AND ?3 > 1 GROUP BY view;

-- marks_taken_on: And marks on damaged records.
UPDATE damage d SET volume = ?2, number = o.number
FROM unnest(?3::bigint[], ?4::bigint[]) AS o (old, number) WHERE d.volume = ?1 AND d.number = o.old;

-- left_over: Captures that were added to a segment since it was read: none, unless it was not settled.
SELECT count(*) FROM captures WHERE volume_id = ?;

-- segment_dropped: Nothing is left of a segment.
DELETE FROM segments WHERE id = ?;

-- volume_number: The number of a segment, and how many records it has.
SELECT id, records FROM segments WHERE name = ?;

-- object_condemned: Nothing is left in an object: it is deleted at once, and its name is not used again.
UPDATE objects SET retired_at = 0 WHERE name = ?;

-- object_begun: A new object is being written: until it is in use, it is one to delete at once.
INSERT INTO objects (name, bytes, made_at, retired_at)
VALUES (?, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0);

-- object_used: It is in use.
UPDATE objects SET bytes = ?2, made_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, retired_at = NULL
WHERE name = ?1 AND retired_at = 0;

-- condemned: Objects to delete at once.
SELECT name FROM objects WHERE retired_at = 0;

-- object_dropped: It is deleted.
DELETE FROM objects WHERE name = ? AND retired_at = 0;
