-- volume_named: A volume's number; names are stored once.
INSERT INTO volumes (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id;

-- insert: A capture enters the catalogue; one that is already there stays as it is.
INSERT OR IGNORE INTO captures (host_id, url_id, fetched_at, capture_id, url, volume_id, number, "offset", length,
    status, media_type, digest, size, is_page, refers_at, charset, charset_from)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- at_place: What the catalogue holds of one record.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM captures JOIN volumes ON volumes.id = volume_id
WHERE name = ? AND number = ?;

-- is_held: Whether views hold a page of this address already.
SELECT 1 FROM captures WHERE host_id = ? AND url_id = ? AND is_page AND url = ? LIMIT 1;

-- last_seen: When an address was last answered for.
SELECT fetched_at FROM captures WHERE host_id = ? AND url_id = ? AND url = ? ORDER BY fetched_at DESC LIMIT 1;

-- versions: All captures of an address with a body, newest first. The text is compared because ids may collide.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM captures JOIN volumes ON volumes.id = volume_id
WHERE host_id = ? AND url_id = ? AND url = ? AND refers_at IS NULL
ORDER BY fetched_at DESC;

-- in_order: Everything, as it lies in the archive.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
ORDER BY name, number;

-- in_volume: One volume's captures, as they lie in it.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
WHERE name = ?
ORDER BY number;

-- places_from: Where a volume's captures lie, from a number on.
SELECT number, "offset", length FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?) AND number >= ?
ORDER BY number LIMIT ?;

-- kept_from: A volume's captures from a number on.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
WHERE name = ? AND number >= ?
ORDER BY number LIMIT ?;

-- is_known: Whether there is a capture of an address and a moment.
SELECT 1 FROM captures WHERE host_id = ? AND url_id = ? AND fetched_at = ? AND url = ?;

-- volume_names: Volumes that hold catalogued captures.
SELECT name FROM volumes ORDER BY name;

-- last_in: The last catalogued capture of a volume.
SELECT number, "offset", length FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?)
ORDER BY number DESC LIMIT 1;

-- pages: Captures that views hold, the versions of an address together, oldest first.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE is_page
ORDER BY host_id, url_id, fetched_at;
