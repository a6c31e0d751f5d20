-- What was to be forgotten, so that nothing brings it back: a host's name, or the text of an address.
CREATE TABLE forgotten (
    name TEXT PRIMARY KEY,
    is_host INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    done_at INTEGER                         -- NULL: it was begun, and not all of it is gone yet
) WITHOUT ROWID;
