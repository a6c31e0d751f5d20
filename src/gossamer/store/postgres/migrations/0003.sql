-- What sitemaps and feeds say about the changes of pages, in a crawl with revisits; no row if they say nothing.
CREATE TABLE said (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    changed_at bigint,
    every_s bigint,
    PRIMARY KEY (host_id, id)
);
