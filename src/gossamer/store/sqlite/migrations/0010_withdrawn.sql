-- Pages that can no longer be found although a capture is kept: they are gone, or now refuse indexing.
CREATE TABLE withdrawn (
    host_id INTEGER NOT NULL,
    url_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    at INTEGER NOT NULL,                    -- the instant of the response that shows it
    PRIMARY KEY (host_id, url_id, url)
) WITHOUT ROWID;

-- Pages already known to be gone, by their newest response.
INSERT INTO withdrawn (host_id, url_id, url, at)
SELECT host_id, url_id, url, max(fetched_at) FROM captures GROUP BY host_id, url_id, url
HAVING max(is_page) AND max(CASE WHEN status IN (404, 410) THEN fetched_at END) = max(fetched_at);

UPDATE tallies SET number = number - (SELECT count(*) FROM withdrawn) WHERE name = 'pages';
