-- schema: Where the tables are, and how texts are stored.
SELECT current_schema(), current_setting('server_encoding');

-- idle_limit: A crawler that freezes in the middle of a transaction must not keep its locks.
SET idle_in_transaction_session_timeout = '15s';

-- migration_lock: One crawler brings the schema up to date, the others wait; held until the transaction ends.
SELECT pg_advisory_xact_lock(hashtext('gossamer ' || current_schema()));

-- meta_table: Numbers about this database: 'version'.
CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, number bigint NOT NULL);

-- version: The number of schema steps taken.
SELECT number FROM meta WHERE name = 'version';

-- version_set: More steps have been taken.
INSERT INTO meta (name, number) VALUES ('version', %(version)s)
ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- views_schema: The schema of the views in the shape of state.db.
SELECT quote_ident(current_schema() || '_views');

-- views_first: Names mean these views before tables, until the transaction or (false) the connection ends.
SELECT set_config('search_path', quote_ident(current_schema() || '_views') || ',' || current_setting('search_path'), %(is_local)s);

-- path: The search path of tables.
SELECT current_setting('search_path');

-- path_restored: The search path as it was, for the rest of the transaction.
SELECT set_config('search_path', %(path)s, true);
