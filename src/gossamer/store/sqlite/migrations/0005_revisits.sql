-- What is remembered of pages that come again: MessagePack of values.past.Past. Only of pages that were fetched in a
-- crawl that comes back to them.
CREATE TABLE revisits (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    past BLOB NOT NULL,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

-- When the capture was made that holds the body; NULL: it has its own. Not NULL for WARC revisit records.
ALTER TABLE captures ADD COLUMN refers_at INTEGER;
