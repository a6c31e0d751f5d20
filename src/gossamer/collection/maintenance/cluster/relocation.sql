-- withdrawn: Pages that can no longer be found.
SELECT host_id, url_id, url, at FROM withdrawn ORDER BY host_id, url_id;

-- forgotten_before: What was to be erased was erased at this time.
UPDATE forgotten SET done_at = ? WHERE name = ?;
