-- A cluster: small files that belong to it (rules.txt, tokens, vocabulary.ttl, ...), which a single collection keeps in
-- its directory. Names are paths below that.
CREATE TABLE documents (
    name text COLLATE "C" PRIMARY KEY,
    content bytea NOT NULL,
    changed_at bigint NOT NULL
);
