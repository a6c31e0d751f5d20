-- Pages that can no longer be found, though a capture of them is kept: they are gone, or ask not to be indexed now.
CREATE TABLE withdrawn (
    host_id bigint NOT NULL,
    url_id bigint NOT NULL,
    url text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (host_id, url_id, url)
);
