-- What is remembered of pages that come again: MessagePack of values.past.Past.
CREATE TABLE revisits (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    past bytea NOT NULL,
    PRIMARY KEY (host_id, id)
);

-- When the capture was made that holds the body; NULL: it has its own.
ALTER TABLE captures ADD COLUMN refers_at bigint;
