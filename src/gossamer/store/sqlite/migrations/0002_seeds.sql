-- Where the crawl starts, and how far it goes from each start: what a later `crawl` without arguments goes on with.
CREATE TABLE seeds (
    url TEXT PRIMARY KEY,
    reach TEXT NOT NULL
) WITHOUT ROWID;
