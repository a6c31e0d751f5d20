-- The first schema of a shared crawl. Instants are microseconds since 1970 by the database's own clock; ids are
-- xxh3-64 as signed integers. Keys begin with the host, so that a table can be spread over machines by it.

-- Crawlers, running or stopped. One that has not renewed its membership by `alive_until` counts as dead, and others
-- take over its hosts. Every start under a name is a new life: writes by an older process of that name are refused.
CREATE TABLE workers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    life bigint NOT NULL DEFAULT 1,
    alive_until bigint                          -- NULL: it left
);

-- Counters, updated in the transactions that change what they count. A crawler updates only the rows of its own slot,
-- so that two never wait for each other; the value is the sum over all slots.
CREATE TABLE tallies (
    slot integer NOT NULL,
    name text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (slot, name)
) WITH (fillfactor = 50);

-- The unit of politeness. A host whose hash is already taken gets the next free id.
CREATE TABLE hosts (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    is_leased boolean NOT NULL DEFAULT false,   -- while a visit to it is leased
    is_over boolean NOT NULL DEFAULT false,     -- it has used up its budget and is in the last band
    band smallint NOT NULL DEFAULT 6,           -- its front queue: that of its best waiting URL
    worker_id bigint,                           -- the crawler that has leased it, or visited it last
    lease bigint NOT NULL DEFAULT 0,            -- counts its leases: the fencing token of the current one
    visiting bigint,                            -- the leased URL, if it is a page
    next_at bigint NOT NULL DEFAULT 0,          -- no request before this instant
    ready_at bigint,                            -- when `take` may find a URL here; NULL: leased, or none waits
    gap bigint NOT NULL DEFAULT 0,              -- the current minimum gap, in microseconds
    troubles integer NOT NULL DEFAULT 0,        -- failed visits; halved by each that succeeds
    failing integer NOT NULL DEFAULT 0,         -- visits in a row that found it down
    failing_since bigint,
    retired_at bigint,                          -- no visit is leased since
    retired_why text,
    address text,                               -- the IP address last connected to, if known
    visits bigint NOT NULL DEFAULT 0,           -- the ledger: visits that sent a request,
    left_at bigint,                             --   when the last of them ended,
    least_gap bigint,                           --   the shortest gap between two,
    rested bigint NOT NULL DEFAULT 0,           --   the sum of all gaps,
    broken integer NOT NULL DEFAULT 0,          --   and how many were shorter than the minimum
    spent bigint NOT NULL DEFAULT 0,            -- microseconds spent on its responses
    linked_from bigint NOT NULL DEFAULT 0,      -- a linear counter of other hosts that link to it
    held bigint NOT NULL DEFAULT 0              -- URLs in quarantine
) WITH (fillfactor = 70);
CREATE INDEX hosts_ready ON hosts (band, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX hosts_leased ON hosts (worker_id) WHERE is_leased;
CREATE INDEX hosts_out ON hosts (address) WHERE is_leased AND address IS NOT NULL;

-- IP addresses, which several hosts may share, and when the next visit to each may start.
CREATE TABLE networks (
    address text PRIMARY KEY,
    start_at bigint NOT NULL DEFAULT 0
);

-- Every URL that was accepted. If two have the same hash, the second gets the next free id.
CREATE TABLE addresses (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    source_host_id bigint,                      -- of the URL it was first found on; NULL: a seed
    source_id bigint,
    settled_at bigint,
    due_at bigint,                              -- if it is to be visited again: when
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

-- URLs that wait for a visit. A lane is one origin of a host: 0 is http, 1 is https; 2 and 3 are the same for URLs in
-- quarantine.
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

-- Notices that URLs have been queued for a host, left by transactions that have not locked its row. The next crawler to
-- take delivers them under the host's lock, so no crawler waits for a host that another has locked.
CREATE TABLE mail (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    linked_from bigint NOT NULL DEFAULT 0,      -- bits for the hosts that link to them
    band smallint,                              -- the best front queue of the new URLs; NULL: none
    held integer NOT NULL DEFAULT 0,            -- how many of them are in quarantine
    PRIMARY KEY (host_id, id)
);
CREATE SEQUENCE mail_numbers;

-- The robots.txt of each origin. Every write changes the version, so that crawlers with a copy notice.
CREATE TABLE robots (
    host_id bigint NOT NULL,
    lane smallint NOT NULL,
    version bigint NOT NULL,
    crawl_delay_s double precision,
    entry bytea NOT NULL,
    PRIMARY KEY (host_id, lane)
);
CREATE SEQUENCE robots_versions;

-- Requests for a robots.txt that has moved: sent to host_id, for a lane of a host that may be another.
CREATE TABLE errands (
    host_id bigint NOT NULL,
    for_host_id bigint NOT NULL,
    for_lane smallint NOT NULL,
    url text NOT NULL,
    PRIMARY KEY (host_id, for_host_id, for_lane)
);

-- URL templates of visited pages; those that yield little reveal crawler traps.
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

-- The catalogue: the place of each capture in the archives of the crawlers.
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
