-- What is remembered about pages that are revisited: values.past.Past as MessagePack. Only for pages fetched in a crawl
-- with revisits.
CREATE TABLE revisits (
    host_id INTEGER NOT NULL,
    id INTEGER NOT NULL,
    past BLOB NOT NULL,
    PRIMARY KEY (host_id, id)
) WITHOUT ROWID;

-- The instant of the capture that holds the body; NULL: this one does. Never NULL for WARC revisit records.
ALTER TABLE captures ADD COLUMN refers_at INTEGER;
