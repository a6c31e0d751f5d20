-- until: Answers of a moment and before that could be pages, those of one address together, the newest first.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size, is_page
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE fetched_at <= ? AND status BETWEEN 200 AND 299 AND refers_at IS NULL
ORDER BY host_id, url_id, fetched_at DESC;

-- until_of: The same for one host.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size, is_page
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE host_id = ? AND fetched_at <= ? AND status BETWEEN 200 AND 299 AND refers_at IS NULL
ORDER BY url_id, fetched_at DESC;
