-- What sitemaps and feeds say about the changes of pages, in a crawl with revisits; no row if they say nothing.
CREATE TABLE said (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    changed_at INTEGER,
    every_s INTEGER,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;
