-- What sitemaps and feeds say of the changes of pages; only of those they say something of, in a crawl that comes back.
CREATE TABLE said (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    changed_at INTEGER,
    every_s INTEGER,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;
