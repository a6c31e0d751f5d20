-- next_sources: The next pages that link, in order of their ids.
SELECT id, url, outgoing FROM sources WHERE id > ? ORDER BY id LIMIT ?;
