-- A cluster: what `gossamer forget` and `gossamer compact` have begun there.

-- Segments with records that are no longer in the catalogue: they are rewritten without them.
CREATE TABLE rewrites (
    volume_id bigint PRIMARY KEY REFERENCES volumes ON DELETE CASCADE,
    asked_at bigint NOT NULL
);

-- Pages that are not in the catalogue any more, and may still be in a view.
CREATE TABLE removals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX removals_by_url ON removals (md5(url));
