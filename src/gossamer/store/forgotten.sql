-- put: A URL or host is to be erased; if requested again, the erasure starts again.
INSERT INTO forgotten (name, is_host, asked_at) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET asked_at = excluded.asked_at, done_at = NULL;

-- all: Everything that was to be erased, oldest request first.
SELECT name, is_host, asked_at, done_at FROM forgotten ORDER BY asked_at, name;

-- done: Everything that was pending is deleted.
UPDATE forgotten SET done_at = ? WHERE done_at IS NULL;

-- allowed: It is accepted again.
DELETE FROM forgotten WHERE name = ?;

-- unseeded: A URL is no seed any more.
DELETE FROM seeds WHERE url = ?;
