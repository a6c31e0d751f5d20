-- The first schema of state.db. Instants are microseconds since 1970 (UTC); ids are xxh3-64 as signed integers.

-- Numbers about this database: 'clean' (whether the last writer stopped cleanly), 'latest_at'.
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- Counters, updated in the transactions that change what they count, so that no query counts rows.
CREATE TABLE tallies (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- The catalogue: the place of each capture in the archive.
CREATE TABLE volumes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE captures (
    host_id INTEGER NOT NULL,
    url_id INTEGER NOT NULL,
    fetched_at INTEGER NOT NULL,
    capture_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    volume_id INTEGER NOT NULL REFERENCES volumes (id),
    number INTEGER NOT NULL,
    "offset" INTEGER NOT NULL,
    length INTEGER NOT NULL,
    status INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    is_page INTEGER NOT NULL,
    PRIMARY KEY (host_id, url_id, fetched_at)
) WITHOUT ROWID;

CREATE INDEX captures_by_place ON captures (volume_id, number);

-- The unit of politeness. A host whose hash is already taken gets the next free id.
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    lanes INTEGER NOT NULL DEFAULT 0,       -- bit 0: it has known http URLs; bit 1: https
    queued INTEGER NOT NULL DEFAULT 0,      -- rows of queue and errands at this host, the leased one included
    errands INTEGER NOT NULL DEFAULT 0,     -- rows of errands at this host
    leased INTEGER NOT NULL DEFAULT 0,      -- 1 while a visit to it is leased
    next_at INTEGER NOT NULL DEFAULT 0,     -- no request before this instant
    ready_at INTEGER,                       -- when `take` may find a URL here; NULL: leased, or none waits
    later_at INTEGER,                       -- the earliest time in queue that is not due yet, or earlier
    gap INTEGER NOT NULL DEFAULT 0,         -- the current minimum gap, in microseconds
    crawl_delay_s REAL,                     -- the largest of its robots.txt files
    troubles INTEGER NOT NULL DEFAULT 0     -- failed visits in a row
);

CREATE INDEX hosts_ready ON hosts (ready_at) WHERE ready_at IS NOT NULL;

-- Every URL that was accepted. If two have the same hash, the second gets the next free id.
CREATE TABLE addresses (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    url TEXT NOT NULL,
    how TEXT NOT NULL,
    source_id INTEGER,
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT,                            -- of the last visit
    detail TEXT,
    settled_at INTEGER,
    due_at INTEGER,                         -- if it is to be visited again: when
    is_queued INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

-- URLs that wait for a visit. A lane is one origin of a host: 0 is http, 1 is https.
CREATE TABLE queue (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    later_at INTEGER NOT NULL,              -- 0: due
    priority INTEGER NOT NULL,              -- lower goes first
    sequence INTEGER NOT NULL,              -- first in, first out
    id INTEGER NOT NULL,
    PRIMARY KEY (host_id, lane, later_at, priority, sequence)
) WITHOUT ROWID;

-- Offers in the order they were made, many per row, until they are merged into addresses and queue.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    amount INTEGER NOT NULL,
    offers BLOB NOT NULL
);

-- The robots.txt of each origin.
CREATE TABLE robots (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (host_id, lane)
) WITHOUT ROWID;

-- Requests for a robots.txt that has moved: sent to host_id, for a lane of a host that may be another.
CREATE TABLE errands (
    host_id INTEGER NOT NULL,
    for_host_id INTEGER NOT NULL,
    for_lane INTEGER NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (host_id, for_host_id, for_lane)
) WITHOUT ROWID;
