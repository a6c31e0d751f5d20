-- A cluster: one archive of segments that all nodes write and read, and the work of its indexers.

-- Counts settled captures. A host is leased to one crawler at a time, so of two captures of a page the one that was
-- settled later has the greater version, whatever the clocks of their crawlers said.
CREATE SEQUENCE capture_versions;
ALTER TABLE captures ADD COLUMN version bigint NOT NULL DEFAULT nextval('capture_versions');

-- Volumes of a cluster are segments: immutable, and part of an object of the archive storage. NULL: the volume is a file
-- of the directory that owns it.
CREATE SEQUENCE segment_numbers;
ALTER TABLE volumes ADD COLUMN object text COLLATE "C";  -- the object that holds it, alone or joined with others
ALTER TABLE volumes ADD COLUMN base bigint;              -- where in that object it begins
ALTER TABLE volumes ADD COLUMN bytes bigint;
ALTER TABLE volumes ADD COLUMN records bigint;           -- its warcinfo included
ALTER TABLE volumes ADD COLUMN digest bytea;             -- SHA-256 of its bytes
ALTER TABLE volumes ADD COLUMN put_at bigint;
ALTER TABLE volumes ADD COLUMN settled_at bigint;        -- when its captures were acknowledged; NULL: they never were
CREATE INDEX volumes_by_object ON volumes (object) WHERE object IS NOT NULL;
CREATE INDEX volumes_unsettled ON volumes (put_at) WHERE object IS NOT NULL AND settled_at IS NULL;

-- Objects of the archive storage.
CREATE TABLE objects (
    name text COLLATE "C" PRIMARY KEY,
    bytes bigint NOT NULL,
    made_at bigint NOT NULL,
    checked_at bigint,                          -- when its segments were last compared with their digests
    damage text,                                -- what was found then; NULL: nothing
    retired_at bigint,                          -- no segment is in it since; deleted after a grace period
    is_given_up boolean NOT NULL DEFAULT false, -- its writer seemed dead: the name stays here, so that it is never used
    removed_at bigint                           -- when such an object was deleted
);
CREATE INDEX objects_retired ON objects (retired_at) WHERE retired_at IS NOT NULL AND removed_at IS NULL;
CREATE INDEX objects_to_check ON objects (checked_at NULLS FIRST) WHERE retired_at IS NULL;
CREATE INDEX objects_to_join ON objects (name) INCLUDE (bytes, made_at) WHERE retired_at IS NULL;

-- Records that a view does not have yet. Rows are deleted when it has them.
CREATE TABLE work (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    volume_id bigint NOT NULL REFERENCES volumes ON DELETE CASCADE,
    view text NOT NULL,                         -- words, facts or links
    first bigint NOT NULL,                      -- record numbers: from this one
    beyond bigint NOT NULL,                     -- to before this one
    added_at bigint NOT NULL,
    is_rebuild boolean NOT NULL DEFAULT false,  -- the page is replaced by the same version too
    tries integer NOT NULL DEFAULT 0,
    leased_by text,
    leased_until bigint,
    set_aside_at bigint,                        -- it failed too often; `why` says how
    why text
) WITH (fillfactor = 70);
CREATE INDEX work_waiting ON work (view, id) WHERE set_aside_at IS NULL;
CREATE INDEX work_by_volume ON work (volume_id);
CREATE INDEX work_of_crawl ON work (view) INCLUDE (first, beyond, added_at) WHERE set_aside_at IS NULL AND NOT is_rebuild;

-- Where the facts of each page are in its markup, as in sources.db (views/facts/sources.py).
CREATE TABLE origins (
    id bigint PRIMARY KEY,                      -- of the page's graph
    version bigint NOT NULL,
    capture_id bigint NOT NULL,
    record bytea NOT NULL
);
