-- The first schema of state.db. Instants are microseconds since 1970 (UTC); ids are xxh3-64 as signed integers.

-- Small facts about this database: 'clean' (whether the last writer stopped in order), 'latest_at'.
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- Counters kept by the transactions that change what they count, so that nobody counts rows.
CREATE TABLE tallies (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- The catalogue: which capture lies where in the archive.
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

-- What politeness is owed to. The id of a host whose hash is taken is the next free one.
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    lanes INTEGER NOT NULL DEFAULT 0,       -- bit 0: http addresses have been met here; bit 1: https
    queued INTEGER NOT NULL DEFAULT 0,      -- rows of queue and errands at this host, the leased one included
    errands INTEGER NOT NULL DEFAULT 0,     -- rows of errands at this host
    leased INTEGER NOT NULL DEFAULT 0,      -- 1 while a visit to it is out
    next_at INTEGER NOT NULL DEFAULT 0,     -- not touched before
    ready_at INTEGER,                       -- when take may find something here; NULL: leased, or nothing to find
    later_at INTEGER,                       -- the earliest row of queue that is not due yet, or before it
    gap INTEGER NOT NULL DEFAULT 0,         -- the gap last promised, in microseconds
    crawl_delay_s REAL,                     -- what its robots.txt files ask for, the largest
    troubles INTEGER NOT NULL DEFAULT 0     -- visits in a row that it failed
);

CREATE INDEX hosts_ready ON hosts (ready_at) WHERE ready_at IS NOT NULL;

-- Every address met and let in. One of a pair with the same hash has the next free id.
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
    due_at INTEGER,                         -- set by a visit that is to be repeated
    is_queued INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

-- What is still to be visited. A lane is one origin of a host: 0 is http, 1 is https.
CREATE TABLE queue (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    later_at INTEGER NOT NULL,              -- 0: due
    priority INTEGER NOT NULL,              -- lower goes first
    sequence INTEGER NOT NULL,              -- first in, first out
    id INTEGER NOT NULL,
    PRIMARY KEY (host_id, lane, later_at, priority, sequence)
) WITHOUT ROWID;

-- Offers in the order they came, many a row, until they are merged into addresses and queue.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    amount INTEGER NOT NULL,
    offers BLOB NOT NULL
);

-- What each origin's robots.txt said.
CREATE TABLE robots (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (host_id, lane)
) WITHOUT ROWID;

-- Visits to a moved robots.txt: made at host_id, owed to a lane of (perhaps) another host.
CREATE TABLE errands (
    host_id INTEGER NOT NULL,
    for_host_id INTEGER NOT NULL,
    for_lane INTEGER NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (host_id, for_host_id, for_lane)
) WITHOUT ROWID;
