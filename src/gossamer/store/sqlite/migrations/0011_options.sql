-- Failed visits before the last one, of a URL that failed more than once: at most 10, written when the next visit ends.
CREATE TABLE failures (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    detail TEXT,
    PRIMARY KEY (host_id, id, at)
) WITHOUT ROWID;

-- Options that were given to crawls of this collection as flags. They apply to later crawls until they are unset.
CREATE TABLE options (
    name TEXT PRIMARY KEY,                  -- as in gossamer.toml: 'crawl.max_depth'
    value TEXT NOT NULL,                    -- JSON
    given_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What refusals were last decided by: a digest of each option, file or list that can refuse a URL.
CREATE TABLE judged_by (
    name TEXT PRIMARY KEY,
    digest TEXT NOT NULL
) WITHOUT ROWID;
