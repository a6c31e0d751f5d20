-- wheels: Those of a version.
SELECT name, bytes, sha256 FROM wheels WHERE version = %(version)s ORDER BY name;

-- drop: They are replaced.
DELETE FROM wheels WHERE version = %(version)s;

-- put: One of them.
INSERT INTO wheels (version, name, bytes, sha256) VALUES (%(version)s, %(name)s, %(size)s, %(sha256)s);

-- versions: That have wheels, the latest first.
SELECT version FROM wheels GROUP BY version ORDER BY max(stored_at) DESC;
