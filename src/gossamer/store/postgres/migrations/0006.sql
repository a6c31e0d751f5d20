-- Failed visits before the last one, of a URL that failed more than once: at most 10, written when the next visit ends.
CREATE TABLE failures (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    at bigint NOT NULL,
    reason text NOT NULL,
    detail text,
    PRIMARY KEY (host_id, id, at)
);
