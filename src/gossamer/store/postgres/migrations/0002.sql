-- What is remembered about pages that are revisited: values.past.Past as MessagePack.
CREATE TABLE revisits (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    past bytea NOT NULL,
    PRIMARY KEY (host_id, id)
);

-- The instant of the capture that holds the body; NULL: this one does.
ALTER TABLE captures ADD COLUMN refers_at bigint;
