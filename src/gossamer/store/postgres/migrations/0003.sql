-- What sitemaps and feeds say of the changes of pages; only of those they say something of, in a crawl that comes back.
CREATE TABLE said (
    host_id bigint NOT NULL,
    id bigint NOT NULL,
    changed_at bigint,
    every_s bigint,
    PRIMARY KEY (host_id, id)
);
