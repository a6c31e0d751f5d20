-- document: The content of a small file of the cluster.
SELECT content FROM documents WHERE name = ?;

-- documents: All of them.
SELECT name, octet_length(content), changed_at FROM documents ORDER BY name;

-- document_put: A small file; it replaces the one before.
INSERT INTO documents (name, content, changed_at) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at;

-- document_drop: A small file that is no longer wanted.
DELETE FROM documents WHERE name = ?;

-- archives: The directories that have volumes in this database. Those of a cluster have one owner.
SELECT DISTINCT owner FROM volumes;

-- document_new: A small file that must not exist yet.
INSERT INTO documents (name, content, changed_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING;

-- server_version: Of PostgreSQL.
SELECT current_setting('server_version');

-- crawlers: How many have renewed their membership in time, by the clock of the database.
SELECT count(*) FROM workers WHERE alive_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- archive_bytes: What the objects of the archive take.
SELECT coalesce(sum(bytes), 0)::bigint FROM objects WHERE retired_at IS NULL;

-- document_written: A small file is written or replaced now, by the clock that all nodes share.
INSERT INTO documents (name, content, changed_at)
VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (name) DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at;

-- document_removed: A small file, or all of a folder, is deleted.
DELETE FROM documents WHERE name = ?1 OR starts_with(name, ?1 || '/');
