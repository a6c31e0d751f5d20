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

-- same_pending: The same thing, when it is the last that was asked and is not yet done: pause, resume, pause are three.
SELECT id FROM (
    SELECT id, verb, args FROM commands WHERE addressee = :addressee AND done_at IS NULL ORDER BY id DESC LIMIT 1
) WHERE verb = :verb AND args = :args;

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

-- clear_commands: What was asked of a process may name pages and hosts.
DELETE FROM commands WHERE addressee = :addressee;

-- create_vitals: The last figures of each process of each machine; a machine itself has the empty name.
CREATE TABLE IF NOT EXISTS vitals (
    id INTEGER NOT NULL PRIMARY KEY,
    node TEXT NOT NULL,
    process TEXT NOT NULL,
    pid INTEGER NOT NULL,
    at INTEGER NOT NULL,
    since_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    version TEXT NOT NULL,
    figures TEXT NOT NULL,
    UNIQUE (node, process)
) STRICT;

-- create_samples: The past hour of each of them: a ring of 3600 places, the second within the hour.
CREATE TABLE IF NOT EXISTS samples (
    beater INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    at INTEGER NOT NULL,
    figures TEXT NOT NULL,
    PRIMARY KEY (beater, slot)
) STRICT, WITHOUT ROWID;

-- put_vitals: The newest figures replace those before; the row's id.
INSERT INTO vitals (node, process, pid, at, since_at, state, version, figures)
VALUES (:node, :process, :pid, :at, :since_at, :state, :version, :figures)
ON CONFLICT (node, process) DO UPDATE SET pid = excluded.pid, at = excluded.at, since_at = excluded.since_at,
    state = excluded.state, version = excluded.version, figures = excluded.figures
RETURNING id;

-- put_sample: This second takes the place of the one an hour ago.
INSERT INTO samples (beater, slot, at, figures) VALUES (:beater, :slot, :at, :figures)
ON CONFLICT (beater, slot) DO UPDATE SET at = excluded.at, figures = excluded.figures;

-- every_vitals: The last figures of every process and machine.
SELECT node, process, pid, at, since_at, state, version, figures FROM vitals ORDER BY node, process;

-- samples_since: The past, second by second.
SELECT node, process, s.at, s.figures FROM samples s JOIN vitals v ON v.id = s.beater
WHERE s.at >= :since_at ORDER BY s.at, node, process;

-- end_workers: Workers of a kind, named "kind number", that ended with whoever started them; their past stays.
UPDATE vitals SET state = 'ended' WHERE substr(process, 1, length(:kind)) = :kind;

-- forget_samples: What is older than the ring is long, and what nobody owns.
DELETE FROM samples WHERE at < :before OR beater NOT IN (SELECT id FROM vitals);

-- forget_beaters: Processes and machines not heard of for longer than the ring is long.
DELETE FROM vitals WHERE at < :before;
