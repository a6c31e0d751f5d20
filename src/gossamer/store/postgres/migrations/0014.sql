-- A cluster: the wheels of its versions of gossamer, for nodes that continue with them. The bytes are in the storage of
-- the archive; what is written here decides what such a node runs.
CREATE TABLE wheels (
    version text COLLATE "C" NOT NULL,          -- of gossamer
    name text COLLATE "C" NOT NULL,             -- of the file
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    stored_at bigint NOT NULL DEFAULT micros_now(),
    PRIMARY KEY (version, name)
);
