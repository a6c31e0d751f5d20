-- The frontier for many URLs: small host ids, URLs without their host, results in a table of their own, bands and back
-- queues, the politeness ledger, quarantine. URLs keep their ids, and the queue its order.

ALTER TABLE hosts RENAME TO old_hosts;
ALTER TABLE addresses RENAME TO old_addresses;
ALTER TABLE queue RENAME TO old_queue;
ALTER TABLE journal RENAME TO old_journal;
ALTER TABLE robots RENAME TO old_robots;
ALTER TABLE errands RENAME TO old_errands;
DROP INDEX hosts_ready;

-- The unit of politeness. Ids are small and assigned in order. Durations are microseconds, except crawl_delay_s.
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    lanes INTEGER NOT NULL DEFAULT 0,       -- bit 0: it has known http URLs; bit 1: https
    queued INTEGER NOT NULL DEFAULT 0,      -- rows of queue (not quarantined) and errands, the leased one included
    errands INTEGER NOT NULL DEFAULT 0,     -- rows of errands at this host
    leased INTEGER NOT NULL DEFAULT 0,      -- 1 while a visit to it is leased
    in_back INTEGER NOT NULL DEFAULT 0,     -- 1 while it has a back queue, in the crawler's memory
    band INTEGER NOT NULL DEFAULT 0,        -- its front queue: 0 is served most often, 7 is over budget
    next_at INTEGER NOT NULL DEFAULT 0,     -- no request before this instant
    ready_at INTEGER,                       -- when it may leave its front queue; NULL: it is in none
    later_at INTEGER,                       -- the earliest time in queue that is not due yet, or earlier
    gap INTEGER NOT NULL DEFAULT 0,         -- the current minimum gap
    crawl_delay_s REAL,                     -- the largest of its robots.txt files
    troubles INTEGER NOT NULL DEFAULT 0,    -- failed visits, halved by successes: how far it is backed off
    failing INTEGER NOT NULL DEFAULT 0,     -- visits in a row that found it down
    failing_since INTEGER,                  -- when the first of them was
    retired_at INTEGER,                     -- no visit is leased since
    retired_why TEXT,
    visits INTEGER NOT NULL DEFAULT 0,      -- the ledger: visits that sent a request,
    left_at INTEGER,                        -- when the last of them ended,
    least_gap INTEGER,                      -- the shortest gap between two,
    rests INTEGER NOT NULL DEFAULT 0,       -- the number of gaps,
    rested INTEGER NOT NULL DEFAULT 0,      -- the sum of all gaps,
    broken INTEGER NOT NULL DEFAULT 0,      -- and how many were shorter than the minimum
    spent INTEGER NOT NULL DEFAULT 0,       -- how long its responses took in all
    linked_from INTEGER NOT NULL DEFAULT 0, -- a linear counter of the other hosts that link here (63 bits)
    held INTEGER NOT NULL DEFAULT 0         -- rows of queue that are held in quarantine
);

CREATE INDEX hosts_front ON hosts (band, ready_at) WHERE ready_at IS NOT NULL;

INSERT INTO hosts (name, lanes, queued, errands, leased, next_at, ready_at, later_at, gap, crawl_delay_s, troubles)
SELECT name, lanes, queued, errands, leased, next_at, ready_at, later_at, gap, crawl_delay_s, troubles
FROM old_hosts ORDER BY name;

CREATE TEMP TABLE ids AS
SELECT old.id AS old_id, new.id AS new_id, old.name AS name FROM old_hosts old JOIN main.hosts new ON new.name = old.name;
CREATE INDEX temp.ids_old ON ids (old_id);

-- Every URL that was accepted; its id is 64 bits of the hash of its identity. If two have the same hash, the second
-- gets the next free id. Rows are small because there are many.
CREATE TABLE addresses (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    lane INTEGER NOT NULL,                  -- 0: http, 1: https
    text TEXT NOT NULL,                     -- what follows the first slash after the host
    how INTEGER NOT NULL,                   -- 0 seed, 1 link, 2 redirect, 3 sitemap, 4 feed, 5 robots, 6 map
    source_host_id INTEGER,                 -- the host it was first found on, if another
    source_id INTEGER,                      -- the URL it was first found on
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

INSERT INTO addresses (host_id, id, lane, text, how, source_id, depth, hops)
SELECT new_id, id, url LIKE 'https:%', substr(url, CASE WHEN url LIKE 'https:%' THEN 10 ELSE 9 END + length(name)),
    CASE how WHEN 'seed' THEN 0 WHEN 'link' THEN 1 WHEN 'redirect' THEN 2 WHEN 'sitemap' THEN 3 WHEN 'feed' THEN 4
        WHEN 'robots' THEN 5 ELSE 6 END,
    source_id, depth, hops
FROM old_addresses JOIN ids ON old_id = host_id ORDER BY new_id, id;

-- How the last visit to a URL ended; only for URLs that were visited or given up.
CREATE TABLE ends (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    settled_at INTEGER NOT NULL,
    due_at INTEGER,                         -- if it is to be visited again: when
    detail TEXT,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

INSERT INTO ends (host_id, id, reason, failures, settled_at, due_at, detail)
SELECT new_id, id,
    CASE reason WHEN 'fetched' THEN 1 WHEN 'unchanged' THEN 2 WHEN 'moved' THEN 3 WHEN 'gone' THEN 4
        WHEN 'robots' THEN 10 WHEN 'robots-unreachable' THEN 11 WHEN 'scope' THEN 12 WHEN 'too-many-redirects' THEN 13
        WHEN 'redirect-out' THEN 14 WHEN 'address' THEN 15 WHEN 'contact' THEN 16 WHEN 'media-type' THEN 17
        WHEN 'filter' THEN 18 WHEN 'trap' THEN 19 WHEN 'retired' THEN 20
        WHEN 'dns' THEN 30 WHEN 'connect' THEN 31 WHEN 'tls' THEN 32 WHEN 'timeout' THEN 33 WHEN 'too-slow' THEN 34
        WHEN 'protocol' THEN 35 WHEN 'headers-too-large' THEN 36 WHEN 'disconnected' THEN 37 WHEN 'coding' THEN 38
        WHEN 'slow-down' THEN 39 WHEN 'server-error' THEN 40 WHEN 'client-error' THEN 41
        WHEN 'read-timeout' THEN 50 WHEN 'read-crash' THEN 51 WHEN 'read-memory' THEN 52 END,
    failures, coalesce(settled_at, 0), due_at, detail
FROM old_addresses JOIN ids ON old_id = host_id WHERE reason IS NOT NULL ORDER BY new_id, id;

-- URLs that wait for a visit. A lane is one origin of a host: 0 is http, 1 is https; 2 and 3 are the same for URLs in
-- quarantine.
CREATE TABLE queue (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    later_at INTEGER NOT NULL,              -- 0: due
    priority INTEGER NOT NULL,              -- lower goes first
    sequence INTEGER NOT NULL,              -- first in, first out; no two rows have the same
    id INTEGER NOT NULL,
    PRIMARY KEY (host_id, lane, later_at, priority, sequence)
) WITHOUT ROWID;

INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT new_id, lane, later_at, min(63, 8 + 4 * priority), row_number() OVER (ORDER BY sequence, old_id, lane), id
FROM old_queue JOIN ids ON old_id = host_id;

INSERT INTO meta (name, number) SELECT 'sequence', count(*) + 1 FROM queue;

-- Offers in the order they were made, many per row, until they are merged into addresses and queue, or moved to heaps.
-- MessagePack: an array of pages, each [host id, id, offers]; [nil, nil, ...] means that the page is unknown.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY,
    amount INTEGER NOT NULL,                -- of the offers that may be new
    offers BLOB NOT NULL
);

INSERT INTO journal (id, amount, offers) SELECT id, amount, CAST(x'9193c0c0' || offers AS BLOB) FROM old_journal;

-- Offers sorted by bucket, many per row and compressed, until merging the bucket is worthwhile.
CREATE TABLE heaps (
    id INTEGER PRIMARY KEY,
    bucket INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    offers BLOB NOT NULL
);

CREATE INDEX heaps_by_bucket ON heaps (bucket);

-- A bucket is a range of host ids: how many URLs are known in it, and how many offers wait in its heap.
CREATE TABLE buckets (
    id INTEGER PRIMARY KEY,
    known INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0
);

INSERT INTO buckets (id, known) SELECT host_id >> 10, count(*) FROM addresses GROUP BY 1;

-- What the URLs of each template have yielded.
CREATE TABLE templates (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,                    -- the hash of the template's text
    template TEXT NOT NULL,
    fetched INTEGER NOT NULL DEFAULT 0,
    fruitful INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,        -- rows of queue held because of it
    quarantined_at INTEGER,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

CREATE INDEX templates_quarantined ON templates (host_id) WHERE quarantined_at IS NOT NULL;

-- The robots.txt of each origin.
CREATE TABLE robots (
    host_id INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (host_id, lane)
) WITHOUT ROWID;

INSERT INTO robots (host_id, lane, expires_at, entry)
SELECT new_id, lane, expires_at, entry FROM old_robots JOIN ids ON old_id = host_id;

-- Requests for a robots.txt that has moved: sent to host_id, for a lane of a host that may be another.
CREATE TABLE errands (
    host_id INTEGER NOT NULL,
    for_host_id INTEGER NOT NULL,
    for_lane INTEGER NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (host_id, for_host_id, for_lane)
) WITHOUT ROWID;

INSERT INTO errands (host_id, for_host_id, for_lane, url)
SELECT here.new_id, there.new_id, for_lane, url
FROM old_errands JOIN ids here ON here.old_id = host_id JOIN ids there ON there.old_id = for_host_id;

DROP TABLE ids;
DROP TABLE old_errands;
DROP TABLE old_robots;
DROP TABLE old_journal;
DROP TABLE old_queue;
DROP TABLE old_addresses;
DROP TABLE old_hosts;
