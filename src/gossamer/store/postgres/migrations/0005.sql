-- Pages that can no longer be found although a capture is kept: they are gone, or now refuse indexing.
CREATE TABLE withdrawn (
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    url text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (host_id, url_id, url)
);
