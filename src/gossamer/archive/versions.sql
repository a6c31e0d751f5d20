-- until: Responses up to an instant that could be pages, or that say that the page is gone; those of one URL together,
-- newest first.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE fetched_at <= ? AND (status BETWEEN 200 AND 299 OR status IN (301, 302, 303, 307, 308, 404, 410))
    AND refers_at IS NULL
ORDER BY host_id, url_id, fetched_at DESC;

-- until_of: The same for one host.
SELECT capture_id, url, fetched_at, name, number, "offset", length, status, media_type, digest, size,
    is_page, refers_at, charset, charset_from, is_unread
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE host_id = ? AND fetched_at <= ? AND (status BETWEEN 200 AND 299 OR status IN (301, 302, 303, 307, 308, 404, 410))
    AND refers_at IS NULL
ORDER BY url_id, fetched_at DESC;

-- seen_again: When a URL was found unchanged, with the body of an earlier capture; oldest first.
SELECT fetched_at FROM captures
WHERE host_id = ? AND url_id = ? AND url = ? AND refers_at IS NOT NULL
ORDER BY fetched_at;
