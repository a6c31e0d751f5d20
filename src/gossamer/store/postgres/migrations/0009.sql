-- An index has no room for a text of more than 2,704 bytes, and URLs are longer: they are found by their digests.
ALTER TABLE withdrawn DROP CONSTRAINT withdrawn_pkey;
CREATE UNIQUE INDEX withdrawn_by_url ON withdrawn (host_id, url_id, md5(url));
ALTER TABLE seeds DROP CONSTRAINT seeds_pkey;
CREATE UNIQUE INDEX seeds_by_url ON seeds (md5(url));
