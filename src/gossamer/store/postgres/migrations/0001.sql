-- The first schema of a shared crawl. Instants are microseconds since 1970 by the database's own clock; ids are
-- xxh3-64 as signed integers. Keys begin with the host, so that a table can be spread over machines by it.

-- Crawlers, at work or gone. One that has not renewed its stay by `alive_until` is taken for dead, and what it held
-- goes on. Every start under a name is another life: an older one that still runs is not listened to.
CREATE TABLE workers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    life bigint NOT NULL DEFAULT 1,
    alive_until bigint                          -- NULL: gone
);

-- Counters kept by the transactions that change what they count. A worker moves those of its own slot only, so that
-- two never wait for each other; the sum over all slots counts.
CREATE TABLE tallies (
    slot integer NOT NULL,
    name text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (slot, name)
) WITH (fillfactor = 50);

-- What politeness is owed to. The id of a host whose hash is taken is the next free one.
CREATE TABLE hosts (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    is_leased boolean NOT NULL DEFAULT false,   -- while a visit to it is out
    is_over boolean NOT NULL DEFAULT false,     -- it has used up its budget, and stands in the last band
    band smallint NOT NULL DEFAULT 6,           -- the front queue it stands in: that of its best waiting address
    worker_id bigint,                           -- who holds it, or touched it last
    lease bigint NOT NULL DEFAULT 0,            -- counts its leases: the fencing token of the one that is out
    visiting bigint,                            -- the address that is out, when it is a page
    next_at bigint NOT NULL DEFAULT 0,          -- not touched before
    ready_at bigint,                            -- when take may find something here; NULL: leased, or nothing to find
    gap bigint NOT NULL DEFAULT 0,              -- the gap last promised, in microseconds
    troubles integer NOT NULL DEFAULT 0,        -- visits that it failed, halved by those it did not
    failing integer NOT NULL DEFAULT 0,         -- visits in a row that it failed
    failing_since bigint,
    retired_at bigint,                          -- nothing is handed out there since
    retired_why text,
    address text,                               -- the network address it was last dialled at, as far as known
    visits bigint NOT NULL DEFAULT 0,           -- the ledger: visits that touched it,
    left_at bigint,                             --   when the last of them ended,
    least_gap bigint,                           --   the shortest rest it had between two,
    rested bigint NOT NULL DEFAULT 0,           --   all of them together,
    broken integer NOT NULL DEFAULT 0,          --   and how many were shorter than promised
    spent bigint NOT NULL DEFAULT 0,            -- microseconds its answers took
    linked_from bigint NOT NULL DEFAULT 0,      -- a linear counter of other hosts that link to it
    held bigint NOT NULL DEFAULT 0              -- addresses in quarantine
) WITH (fillfactor = 70);
CREATE INDEX hosts_ready ON hosts (band, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX hosts_leased ON hosts (worker_id) WHERE is_leased;
CREATE INDEX hosts_out ON hosts (address) WHERE is_leased AND address IS NOT NULL;

-- Network addresses that several hosts may share, and when the next visit to each may start.
CREATE TABLE networks (
    address text PRIMARY KEY,
    start_at bigint NOT NULL DEFAULT 0
);

-- Every address met and let in. One of a pair with the same hash has the next free id.
CREATE TABLE addresses (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    source_host_id bigint,                      -- of the address it was first met on; NULL: seeds
    source_id bigint,
    settled_at bigint,
    due_at bigint,                              -- set by a visit that is to be repeated
    depth integer NOT NULL,
    hops smallint NOT NULL,
    failures smallint NOT NULL DEFAULT 0,
    is_queued boolean NOT NULL DEFAULT true,
    url text NOT NULL,
    how text NOT NULL,
    reason text,                                -- of the last visit
    detail text,
    PRIMARY KEY (host_id, id)
);

-- What is still to be visited. A lane is one origin of a host: 0 is http, 1 is https; 2 and 3 are the same for
-- addresses held in quarantine.
CREATE TABLE queue (
    host_id bigint NOT NULL,
    later_at bigint NOT NULL,                   -- 0: due
    sequence bigint NOT NULL,                   -- first in, first out
    id bigint NOT NULL,
    priority integer NOT NULL,                  -- lower goes first
    lane smallint NOT NULL,
    PRIMARY KEY (host_id, lane, later_at, priority, sequence)
);
CREATE SEQUENCE offer_numbers;

-- Word to a host that something has come for it, left by a transaction that does not hold its row. Whoever takes next
-- delivers it, under the host's lock; so nobody waits for a host that another crawler is busy with.
CREATE TABLE mail (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    linked_from bigint NOT NULL DEFAULT 0,      -- bits for the hosts whose links these are
    band smallint,                              -- the best front queue of what has come; NULL: nothing has
    held integer NOT NULL DEFAULT 0,            -- how many of it went into quarantine
    PRIMARY KEY (host_id, id)
);
CREATE SEQUENCE mail_numbers;

-- What each origin's robots.txt said. The version changes with every writing, for those who hold a copy.
CREATE TABLE robots (
    host_id bigint NOT NULL,
    lane smallint NOT NULL,
    version bigint NOT NULL,
    crawl_delay_s double precision,
    entry bytea NOT NULL,
    PRIMARY KEY (host_id, lane)
);
CREATE SEQUENCE robots_versions;

-- Visits to a moved robots.txt: made at host_id, owed to a lane of (perhaps) another host.
CREATE TABLE errands (
    host_id bigint NOT NULL,
    for_host_id bigint NOT NULL,
    for_lane smallint NOT NULL,
    url text NOT NULL,
    PRIMARY KEY (host_id, for_host_id, for_lane)
);

-- Patterns of addresses that visits have told something about; from their yield endless series are known.
CREATE TABLE templates (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    template text NOT NULL,
    fetched bigint NOT NULL DEFAULT 0,
    fruitful bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    quarantined_at bigint,
    PRIMARY KEY (host_id, id)
);

-- The catalogue: which capture lies where in the archives of the crawlers.
CREATE TABLE volumes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
CREATE TABLE captures (
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    fetched_at bigint NOT NULL,
    capture_id bigint NOT NULL,
    url text NOT NULL,
    volume_id bigint NOT NULL,
    number bigint NOT NULL,
    "offset" bigint NOT NULL,
    length bigint NOT NULL,
    status integer NOT NULL,
    media_type text NOT NULL,
    digest bytea NOT NULL,
    size bigint NOT NULL,
    is_page boolean NOT NULL,
    PRIMARY KEY (host_id, url_id, fetched_at)
);
CREATE INDEX captures_by_place ON captures (volume_id, number);
