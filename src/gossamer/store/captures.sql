-- volume_named: A volume's number; names are stored once.
INSERT INTO volumes (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id;

-- volume_named on PostgreSQL: Each directory has volumes of its own.
INSERT INTO volumes (name) VALUES (?) ON CONFLICT (owner, name) DO UPDATE SET name = excluded.name RETURNING id;

-- insert: A capture is added; one that is already there stays as it is.
INSERT INTO captures (host_id, url_id, fetched_at, capture_id, url, volume_id, number, "offset", length,
    status, media_type, digest, size, is_page, refers_at, charset, charset_from, is_unread)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- unread: Captures whose reading failed, in the order of the archive.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures JOIN volumes ON volumes.id = volume_id
WHERE is_unread
ORDER BY name, number;

-- read_again: One of them could be read.
UPDATE captures SET media_type = ?, is_page = ?, charset = ?, charset_from = ?, is_unread = FALSE
WHERE host_id = ? AND url_id = ? AND url = ? AND fetched_at = ?;

-- at_place: The capture of one record.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures JOIN volumes ON volumes.id = volume_id
WHERE name = ? AND number = ?;

-- is_held: Whether the views hold a page of this URL already.
SELECT 1 FROM captures WHERE host_id = ? AND url_id = ? AND is_page AND url = ? LIMIT 1;

-- restored: A page can be found again.
DELETE FROM withdrawn WHERE host_id = ? AND url_id = ? AND url = ? AND at < ?;

-- withdrawn: A page can no longer be found, unless a later capture says otherwise.
INSERT INTO withdrawn (host_id, url_id, url, at) SELECT ?1, ?2, ?3, ?4
WHERE EXISTS (SELECT 1 FROM captures WHERE host_id = ?1 AND url_id = ?2 AND url = ?3 AND is_page)
    AND NOT EXISTS (
        SELECT 1 FROM captures WHERE host_id = ?1 AND url_id = ?2 AND url = ?3 AND is_page AND fetched_at > ?4)
ON CONFLICT DO NOTHING;

-- vanished: Pages whose newest response says that there is no such page, in a rebuilt catalogue.
INSERT INTO withdrawn (host_id, url_id, url, at)
SELECT host_id, url_id, url, max(fetched_at) FROM captures WHERE TRUE GROUP BY host_id, url_id, url
HAVING max(CASE WHEN is_page THEN 1 ELSE 0 END) = 1
    AND max(CASE WHEN status IN (404, 410) THEN fetched_at END) = max(fetched_at)
ON CONFLICT DO NOTHING;

-- versions: All captures of a URL with a body, newest first. The text is compared because ids may collide.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures JOIN volumes ON volumes.id = volume_id
WHERE host_id = ? AND url_id = ? AND url = ? AND refers_at IS NULL
ORDER BY fetched_at DESC;

-- in_order: All captures, in the order of the archive.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
ORDER BY name, number;

-- in_volume: One volume's captures, in order.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
WHERE name = ?
ORDER BY number;

-- places_from: Where a volume's captures are, from a number on.
SELECT number, "offset", length FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?) AND number >= ?
ORDER BY number LIMIT ?;

-- kept_from: A volume's captures from a number on.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM volumes CROSS JOIN captures ON volume_id = volumes.id
WHERE name = ? AND number >= ?
ORDER BY number LIMIT ?;

-- is_known: Whether there is a capture of a URL and instant.
SELECT 1 FROM captures WHERE host_id = ? AND url_id = ? AND fetched_at = ? AND url = ?;

-- volume_names: Volumes that hold catalogued captures.
SELECT name FROM volumes ORDER BY name;

-- last_in: The last catalogued capture of a volume.
SELECT number, "offset", length FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?)
ORDER BY number DESC LIMIT 1;

-- pages: Captures of pages that can be found, the versions of a URL together, oldest first.
SELECT capture_id, c.url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures c CROSS JOIN volumes ON volumes.id = volume_id
WHERE is_page AND NOT EXISTS (
    SELECT 1 FROM withdrawn w WHERE w.host_id = c.host_id AND w.url_id = c.url_id AND w.url = c.url)
ORDER BY c.host_id, c.url_id, fetched_at;

-- pages_from: Pages that can be found, from a key on, each with its newest version; of one host, or of all (NULL).
SELECT c.host_id, c.url_id, c.url, max(c.fetched_at), c.media_type, c.size
FROM captures c
WHERE c.is_page AND (c.host_id, c.url_id, c.url) > (?1, ?2, ?3) AND (?4 IS NULL OR c.host_id = ?4)
    AND NOT EXISTS (
        SELECT 1 FROM withdrawn w WHERE w.host_id = c.host_id AND w.url_id = c.url_id AND w.url = c.url)
GROUP BY c.host_id, c.url_id, c.url
ORDER BY c.host_id, c.url_id, c.url
LIMIT ?5;

-- pages_from on PostgreSQL: There a column next to an aggregate is not taken from the row of the maximum.
SELECT DISTINCT ON (c.host_id, c.url_id, c.url) c.host_id, c.url_id, c.url, c.fetched_at, c.media_type, c.size
FROM captures c
WHERE c.is_page AND (c.host_id, c.url_id, c.url) > (?1, ?2, ?3) AND (?4 IS NULL OR c.host_id = ?4)
    AND NOT EXISTS (
        SELECT 1 FROM withdrawn w WHERE w.host_id = c.host_id AND w.url_id = c.url_id AND w.url = c.url)
ORDER BY c.host_id, c.url_id, c.url, c.fetched_at DESC
LIMIT ?5;

-- totals: How many pages the views hold, and the bytes of their bodies.
SELECT count(*), coalesce(sum(size), 0) FROM captures WHERE is_page;

-- moments: When each host was visited, and where the response is; the captures of a host together.
SELECT host_id, fetched_at, url, name, number, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
ORDER BY host_id;

-- moments_of: The same for one host.
SELECT host_id, fetched_at, url, name, number, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE host_id = ?;

-- by_url: Every capture, those of one URL together, oldest first.
SELECT url, fetched_at, status, is_page, refers_at, name, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
ORDER BY host_id, url_id, url, fetched_at;

-- urls_of_host: The URLs of a host that have captures.
SELECT DISTINCT url FROM captures WHERE host_id = ? ORDER BY url;

-- hosts: One URL of each host that has captures.
SELECT min(url) FROM captures GROUP BY host_id;

-- pages_of_host: The pages of a host, and the digests of their bytes.
SELECT url, digest FROM captures WHERE host_id = ? AND is_page;

-- page_digests: All pages, and the digests of their bytes.
SELECT url, digest FROM captures WHERE is_page;

-- records_in: The place and URL of each catalogued record of a volume, in order.
SELECT number, "offset", length, url FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?) ORDER BY number;

-- volume_id: The number of a volume.
SELECT id FROM volumes WHERE name = ?;

-- volume_added: A volume that replaces another.
INSERT INTO volumes (name) VALUES (?) RETURNING id;

-- moved: A record is elsewhere now.
UPDATE captures SET volume_id = ?, number = ?, "offset" = ? WHERE volume_id = ? AND number = ?;

-- left_pages: Pages with captures that remain in a volume.
SELECT DISTINCT host_id, url_id, url FROM captures WHERE volume_id = ? AND is_page;

-- left_dropped: Captures that remain in a volume are deleted.
DELETE FROM captures WHERE volume_id = ?;

-- withdrawn_dropped: A page without captures was not counted, because it could not be found.
DELETE FROM withdrawn WHERE host_id = ? AND url_id = ? AND url = ?;

-- volume_dropped: A volume is deleted.
DELETE FROM volumes WHERE id = ?;

-- empty: Volumes without a catalogued capture.
SELECT id, name FROM volumes WHERE NOT EXISTS (SELECT 1 FROM captures WHERE volume_id = volumes.id) ORDER BY name;
