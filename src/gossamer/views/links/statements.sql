-- create_sources: One row a page that links, with its outgoing links as one packed value.
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY,
    fetched_at INTEGER NOT NULL,
    url TEXT NOT NULL,
    outgoing BLOB NOT NULL
);

-- create_runs: Changes sorted by target, waiting to be merged; one row a commit.
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    changes INTEGER NOT NULL,
    columns BLOB NOT NULL,
    texts BLOB NOT NULL
);

-- create_targets: How many pages link to a page, and at most 100 of them with their words.
CREATE TABLE IF NOT EXISTS targets (
    id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    anchors BLOB NOT NULL
);

-- create_notes: The position, the state of the merge, and how many changes were merged so far.
CREATE TABLE IF NOT EXISTS notes (
    name TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- note: Write one note.
INSERT INTO notes (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- notes: All notes.
SELECT name, value FROM notes;

-- held: What is known of these sources; the ids come as a JSON list.
SELECT id, fetched_at FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- outgoing_of: The packed links of these sources.
SELECT id, outgoing FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- addresses_of: The addresses of these sources.
SELECT id, url FROM sources WHERE id IN (SELECT value FROM json_each(?));

-- put_source: A page's links replace its earlier ones.
INSERT INTO sources (id, fetched_at, url, outgoing) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET fetched_at = excluded.fetched_at, url = excluded.url, outgoing = excluded.outgoing;

-- all_sources: Every source in order of its id, for digests.
SELECT id, fetched_at, url, outgoing FROM sources ORDER BY id;

-- add_run: The changes of one commit.
INSERT INTO runs (changes, columns, texts) VALUES (?, ?, ?);

-- all_runs: The runs in the order in which they were made.
SELECT id, changes FROM runs ORDER BY id;

-- run: One run whole.
SELECT columns, texts FROM runs WHERE id = ?;

-- run_bytes: How long a run is; its values are not read for that.
SELECT length(columns) + length(texts) FROM runs WHERE id = ?;

-- drop_runs: Forget runs that have been merged to their end.
DELETE FROM runs WHERE id <= ?;

-- targets_of: The merged state of these targets.
SELECT id, count, anchors FROM targets WHERE id IN (SELECT value FROM json_each(?));

-- put_target: The merged state of one target.
INSERT INTO targets (id, count, anchors) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET count = excluded.count, anchors = excluded.anchors;

-- drop_target: Nobody links here any more.
DELETE FROM targets WHERE id = ?;

-- all_targets: Every target in order of its id, for digests.
SELECT id, count, anchors FROM targets ORDER BY id;

-- next_sources: The next pages that link, in order of their ids.
SELECT id, url, outgoing FROM sources WHERE id > ? ORDER BY id LIMIT ?;
