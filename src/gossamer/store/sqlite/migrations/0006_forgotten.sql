-- What the user had erased, so that nothing adds it again: the name of a host, or a URL.
CREATE TABLE forgotten (
    name TEXT PRIMARY KEY,
    is_host INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    done_at INTEGER                         -- NULL: the erasure has started and is not complete
) WITHOUT ROWID;
