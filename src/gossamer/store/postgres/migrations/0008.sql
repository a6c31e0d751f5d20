-- What a collection stores apart from its frontier, as in state.db, and indexes for its readers. Each participating
-- directory has archive volumes of its own, under its name (the parameter gossamer.owner of its connections).

-- Text is compared byte by byte, as in SQLite.
ALTER TABLE hosts ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE addresses ALTER COLUMN url TYPE text COLLATE "C";
ALTER TABLE templates ALTER COLUMN template TYPE text COLLATE "C";
ALTER TABLE captures ALTER COLUMN url TYPE text COLLATE "C";
ALTER TABLE withdrawn ALTER COLUMN url TYPE text COLLATE "C";
ALTER TABLE volumes ALTER COLUMN name TYPE text COLLATE "C";

CREATE INDEX hosts_by_name ON hosts (name);
CREATE INDEX captures_unread ON captures (volume_id, number) WHERE is_unread;

ALTER TABLE volumes ADD COLUMN owner text NOT NULL DEFAULT coalesce(current_setting('gossamer.owner', true), '');
ALTER TABLE volumes DROP CONSTRAINT volumes_name_key;
ALTER TABLE volumes ADD UNIQUE (owner, name);

-- For readers, the view `tallies` has the sums.
ALTER TABLE tallies RENAME TO tally_slots;

-- Where the crawl starts, and how far it goes from each start.
CREATE TABLE seeds (
    url text COLLATE "C" PRIMARY KEY,
    reach text NOT NULL
);
-- Options that were given to crawls as flags.
CREATE TABLE options (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL,                        -- JSON
    given_at bigint NOT NULL
);
-- What refusals were last decided by: a digest of each option, file or list that can refuse a URL.
CREATE TABLE judged_by (
    name text PRIMARY KEY,
    digest text NOT NULL
);
-- URLs and hosts that the user had erased, so that nothing adds them again.
CREATE TABLE forgotten (
    name text COLLATE "C" PRIMARY KEY,
    is_host boolean NOT NULL,
    asked_at bigint NOT NULL,
    done_at bigint
);
-- Records that `gossamer verify` found damaged.
CREATE TABLE damage (
    owner text NOT NULL DEFAULT coalesce(current_setting('gossamer.owner', true), ''),
    volume text NOT NULL,
    number bigint NOT NULL,
    capture_id bigint,
    why text NOT NULL,
    found_at bigint NOT NULL,
    acknowledged_at bigint,
    PRIMARY KEY (owner, volume, number)
);
CREATE INDEX damage_by_capture ON damage (capture_id) WHERE capture_id IS NOT NULL;

-- Numbers of reasons, as in state.db (frontier.rows.REASON_CODES); readers list results by them.
CREATE FUNCTION reason_code(reason text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE reason
    WHEN 'fetched' THEN 1 WHEN 'unchanged' THEN 2 WHEN 'moved' THEN 3 WHEN 'gone' THEN 4 WHEN 'soft-404' THEN 5
    WHEN 'robots' THEN 10 WHEN 'robots-unreachable' THEN 11 WHEN 'scope' THEN 12 WHEN 'too-many-redirects' THEN 13
    WHEN 'redirect-out' THEN 14 WHEN 'address' THEN 15 WHEN 'contact' THEN 16 WHEN 'media-type' THEN 17
    WHEN 'filter' THEN 18 WHEN 'trap' THEN 19 WHEN 'retired' THEN 20 WHEN 'forgotten' THEN 21
    WHEN 'dns' THEN 30 WHEN 'connect' THEN 31 WHEN 'tls' THEN 32 WHEN 'timeout' THEN 33 WHEN 'too-slow' THEN 34
    WHEN 'protocol' THEN 35 WHEN 'headers-too-large' THEN 36 WHEN 'disconnected' THEN 37 WHEN 'coding' THEN 38
    WHEN 'slow-down' THEN 39 WHEN 'server-error' THEN 40 WHEN 'client-error' THEN 41 WHEN 'unfinished' THEN 42
    WHEN 'filter-error' THEN 43 WHEN 'read-timeout' THEN 50 WHEN 'read-crash' THEN 51 WHEN 'read-memory' THEN 52 END
$$;
CREATE INDEX addresses_by_end ON addresses (reason_code(reason), settled_at, host_id, id) WHERE reason IS NOT NULL;
