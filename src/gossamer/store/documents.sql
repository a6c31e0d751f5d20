-- document: A small file that belongs to the cluster.
SELECT content FROM documents WHERE name = ?;

-- document_put: It is written or replaced.
INSERT INTO documents (name, content, changed_at)
VALUES (?, ?, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (name) DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at;

-- document_removed: It is deleted.
DELETE FROM documents WHERE name = ?1 OR starts_with(name, ?1 || '/');

-- documents: The names of all.
SELECT name FROM documents ORDER BY name;
