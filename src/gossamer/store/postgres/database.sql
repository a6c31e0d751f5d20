-- migration_lock: One crawler brings the schema up to date, the others wait; held until the transaction ends.
SELECT pg_advisory_xact_lock(hashtext('gossamer ' || current_schema()));

-- meta_table: Small facts about this database: 'version'.
CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, number bigint NOT NULL);

-- version: The number of schema steps taken.
SELECT number FROM meta WHERE name = 'version';

-- version_set: More steps have been taken.
INSERT INTO meta (name, number) VALUES ('version', %(version)s)
ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- views_schema: Where the views are that have the shape of state.db.
SELECT quote_ident(current_schema() || '_views');

-- views_first: They are found before the tables, to the end of the transaction or (false) of the connection.
SELECT set_config('search_path', quote_ident(current_schema() || '_views') || ',' || current_setting('search_path'), %(is_local)s);

-- path: Where tables are looked for.
SELECT current_setting('search_path');

-- path_restored: They are looked for there again.
SELECT set_config('search_path', %(path)s, true);
