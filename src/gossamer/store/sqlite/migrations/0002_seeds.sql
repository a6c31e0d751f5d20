-- Where the crawl starts, and how far it goes from each start: a later `crawl` without arguments continues from these.
CREATE TABLE seeds (
    url TEXT PRIMARY KEY,
    reach TEXT NOT NULL
) WITHOUT ROWID;
