-- totals: How many pages the views hold, and the bytes of their bodies.
SELECT count(*), coalesce(sum(size), 0) FROM captures WHERE is_page;

-- moments: When each host was visited, and where the answer lies; the captures of a host together.
SELECT host_id, fetched_at, url, name, number, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
ORDER BY host_id;

-- moments_of: The same for one host.
SELECT host_id, fetched_at, url, name, number, "offset", length
FROM captures CROSS JOIN volumes ON volumes.id = volume_id
WHERE host_id = ?;
