-- Pages that can no longer be found, though a capture of them is kept: they are gone, or ask not to be indexed now.
CREATE TABLE withdrawn (
    host_id INTEGER NOT NULL,
    url_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    at INTEGER NOT NULL,                    -- when the capture was made that says so
    PRIMARY KEY (host_id, url_id, url)
) WITHOUT ROWID;

-- Those that are known to be gone already: their newest answer says so.
INSERT INTO withdrawn (host_id, url_id, url, at)
SELECT host_id, url_id, url, max(fetched_at) FROM captures GROUP BY host_id, url_id, url
HAVING max(is_page) AND max(CASE WHEN status IN (404, 410) THEN fetched_at END) = max(fetched_at);

UPDATE tallies SET number = number - (SELECT count(*) FROM withdrawn) WHERE name = 'pages';
