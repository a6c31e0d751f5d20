-- put: It is to be forgotten; asked for again, it is begun again.
INSERT INTO forgotten (name, is_host, asked_at) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET asked_at = excluded.asked_at, done_at = NULL;

-- all: What was to be forgotten, in the order it was asked for.
SELECT name, is_host, asked_at, done_at FROM forgotten ORDER BY asked_at, name;

-- done: All that waited is gone.
UPDATE forgotten SET done_at = ? WHERE done_at IS NULL;

-- allowed: It may come back.
DELETE FROM forgotten WHERE name = ?;

-- unseeded: An address is no seed any more.
DELETE FROM seeds WHERE url = ?;
