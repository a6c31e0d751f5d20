-- by_address: Every capture, those of one address together, the oldest first.
SELECT url, fetched_at, status, is_page, refers_at, name, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
ORDER BY host_id, url_id, url, fetched_at;

-- urls_of_host: The addresses of a host that anything was kept of.
SELECT DISTINCT url FROM captures WHERE host_id = ? ORDER BY url;

-- hosts: One address of each host that anything was kept of.
SELECT min(url) FROM captures GROUP BY host_id;

-- pages_of_host: The pages of a host, and the digests of their bytes.
SELECT url, digest FROM captures WHERE host_id = ? AND is_page;

-- page_digests: All pages, and the digests of their bytes.
SELECT url, digest FROM captures WHERE is_page;

-- laid: What the catalogue knows of a volume's records, as they lie in it.
SELECT number, "offset", length, url FROM captures
WHERE volume_id = (SELECT id FROM volumes WHERE name = ?) ORDER BY number;

-- volume_id: The number of a volume.
SELECT id FROM volumes WHERE name = ?;

-- volume_added: A volume that takes the place of another.
INSERT INTO volumes (name) VALUES (?) RETURNING id;

-- moved: A record lies elsewhere now.
UPDATE captures SET volume_id = ?, number = ?, "offset" = ? WHERE volume_id = ? AND number = ?;

-- left_pages: The pages that were left behind in a volume.
SELECT DISTINCT host_id, url_id, url FROM captures WHERE volume_id = ? AND is_page;

-- left_dropped: What was left behind is gone.
DELETE FROM captures WHERE volume_id = ?;

-- is_held: Whether views hold a page of this address still.
SELECT 1 FROM captures WHERE host_id = ? AND url_id = ? AND is_page AND url = ? LIMIT 1;

-- withdrawn_dropped: A page of which nothing is kept any more was not counted, because it could not be found.
DELETE FROM withdrawn WHERE host_id = ? AND url_id = ? AND url = ?;

-- volume_dropped: A volume is no more.
DELETE FROM volumes WHERE id = ?;

-- empty: Volumes without a catalogued capture.
SELECT id, name FROM volumes WHERE NOT EXISTS (SELECT 1 FROM captures WHERE volume_id = volumes.id) ORDER BY name;
