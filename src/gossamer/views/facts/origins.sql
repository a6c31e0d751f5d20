-- put_origins: Records of pages replace those of the same or an older version.
INSERT INTO origins (id, version, capture_id, record)
SELECT * FROM unnest(:ids::bigint[], :versions::bigint[], :captures::bigint[], :records::bytea[])
ON CONFLICT (id) DO UPDATE SET version = excluded.version, capture_id = excluded.capture_id, record = excluded.record
WHERE origins.version <= excluded.version;

-- origins_of: The records of pages, if they are of these captures.
SELECT asked.id, record FROM unnest(:ids::bigint[], :captures::bigint[]) AS asked (id, capture_id)
JOIN origins ON origins.id = asked.id AND origins.capture_id = asked.capture_id AND record <> '';
