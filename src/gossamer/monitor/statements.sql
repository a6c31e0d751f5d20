-- create_beats: One row a process name: its last sign of life.
CREATE TABLE IF NOT EXISTS beats (
    name TEXT NOT NULL PRIMARY KEY,
    pid INTEGER NOT NULL,
    at INTEGER NOT NULL,
    facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- create_commands: What one process asked of another; done_at is null while it waits.
CREATE TABLE IF NOT EXISTS commands (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    addressee TEXT NOT NULL,
    verb TEXT NOT NULL,
    args TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT;

-- index_pending: Finds the few that wait among the many that are done.
CREATE INDEX IF NOT EXISTS pending ON commands (addressee, id) WHERE done_at IS NULL;

-- put_beat: The newest sign of life replaces the one before.
INSERT INTO beats (name, pid, at, facts) VALUES (:name, :pid, :at, :facts)
ON CONFLICT (name) DO UPDATE SET pid = excluded.pid, at = excluded.at, facts = excluded.facts;

-- every_beat: The last sign of life of each process.
SELECT name, pid, at, facts FROM beats ORDER BY name;

-- same_pending: The same thing asked before and not yet done.
SELECT id FROM commands WHERE addressee = :addressee AND done_at IS NULL AND verb = :verb AND args = :args LIMIT 1;

-- put_command: Ask for something.
INSERT INTO commands (addressee, verb, args, asked_at) VALUES (:addressee, :verb, :args, :at);

-- pending_for: What waits for one process, oldest first.
SELECT id, verb, args, asked_at FROM commands WHERE addressee = :addressee AND done_at IS NULL ORDER BY id;

-- mark_done: A command has been carried out.
UPDATE commands SET done_at = :at WHERE id = :id AND done_at IS NULL;

-- mark_all_done: What was asked of a process that is no more does not concern its successor.
UPDATE commands SET done_at = :at WHERE addressee = :addressee AND done_at IS NULL;

-- is_done: Whether a command has been carried out; no row once it is forgotten.
SELECT done_at IS NOT NULL FROM commands WHERE id = :id;

-- forget_done: Only the latest commands are of interest.
DELETE FROM commands WHERE done_at IS NOT NULL AND id <= :id - 100;
