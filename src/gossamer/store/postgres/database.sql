-- migration_lock: One crawler brings the schema up to date, the others wait; held until the transaction ends.
SELECT pg_advisory_xact_lock(hashtext('gossamer ' || current_schema()));

-- meta_table: Small facts about this database: 'version'.
CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, number bigint NOT NULL);

-- version: The number of schema steps taken.
SELECT number FROM meta WHERE name = 'version';

-- version_set: More steps have been taken.
INSERT INTO meta (name, number) VALUES ('version', %(version)s)
ON CONFLICT (name) DO UPDATE SET number = excluded.number;
