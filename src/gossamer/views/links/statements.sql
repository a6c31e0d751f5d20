-- create_sources: One row a linking page, with its outgoing links as one packed value.
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY,
    fetched_at INTEGER NOT NULL,
    url TEXT NOT NULL,
    outgoing BLOB NOT NULL
);

-- create_runs: Changes sorted by target, waiting for a merge; one row a commit.
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    changes INTEGER NOT NULL,
    columns BLOB NOT NULL,
    texts BLOB NOT NULL
);

-- create_targets: How many pages link to a page, and at most 100 of them with their anchor texts.
CREATE TABLE IF NOT EXISTS targets (
    id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    anchors BLOB NOT NULL
);

-- create_notes: The position, the state of the merge, and how many changes have been merged.
CREATE TABLE IF NOT EXISTS notes (
    name TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- note: Write one note.
INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- notes: All notes.
SELECT name, value FROM notes;

-- held: When these sources were fetched; the ids are a JSON list.
SELECT id, fetched_at FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- outgoing_of: The packed links of these sources.
SELECT id, outgoing FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- urls_of: The URLs of these sources.
SELECT id, url FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- put_source: A page's links replace its earlier ones.
INSERT INTO sources (id, fetched_at, url, outgoing) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET fetched_at = excluded.fetched_at, url = excluded.url, outgoing = excluded.outgoing;

-- add_run: The changes of one commit.
INSERT INTO runs (changes, columns, texts) VALUES (?, ?, ?);

-- all_runs: The runs in the order they were written.
SELECT id, changes FROM runs ORDER BY id;

-- run: One whole run.
SELECT columns, texts FROM runs WHERE id = ?;

-- run_bytes: The size of a run, without reading it.
SELECT length(columns) + length(texts) FROM runs WHERE id = ?;

-- drop_runs: Delete runs that are merged completely.
DELETE FROM runs WHERE id <= ?;

-- targets_of: The merged state of these targets.
SELECT id, count, anchors FROM targets WHERE id IN (SELECT value FROM json_each(?));

-- put_target: The merged state of one target.
INSERT INTO targets (id, count, anchors) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET count = excluded.count, anchors = excluded.anchors;

-- drop_target: No page links here any more.
DELETE FROM targets WHERE id = ?;

-- next_sources: The next linking pages, in order of their ids.
SELECT id, url, outgoing FROM sources WHERE id > ? ORDER BY id LIMIT ?;
