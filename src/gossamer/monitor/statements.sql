-- create_beats: One row for each process name: its last heartbeat.
CREATE TABLE IF NOT EXISTS beats (
    name TEXT NOT NULL PRIMARY KEY,
    pid INTEGER NOT NULL,
    at INTEGER NOT NULL,
    facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- create_commands: Commands for a process; done_at is null while they wait.
CREATE TABLE IF NOT EXISTS commands (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    addressee TEXT NOT NULL,
    verb TEXT NOT NULL,
    args TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT;

-- index_pending: Finds the few commands that are waiting among the many that are done.
CREATE INDEX IF NOT EXISTS pending ON commands (addressee, id) WHERE done_at IS NULL;

-- put_beat: The newest heartbeat replaces the one before.
INSERT INTO beats (name, pid, at, facts) VALUES (:name, :pid, :at, :facts)
ON CONFLICT (name) DO UPDATE SET pid = excluded.pid, at = excluded.at, facts = excluded.facts;

-- every_beat: The last heartbeat of each process.
SELECT name, pid, at, facts FROM beats ORDER BY name;

-- same_pending: The same command, if it is the last one and not yet done: pause, resume, pause are three commands.
SELECT id FROM (
    SELECT id, verb, args FROM commands WHERE addressee = :addressee AND done_at IS NULL ORDER BY id DESC LIMIT 1
) WHERE verb = :verb AND args = :args;

-- put_command: Add a command.
INSERT INTO commands (addressee, verb, args, asked_at) VALUES (:addressee, :verb, :args, :at);

-- pending_for: The commands waiting for one process, oldest first.
SELECT id, verb, args, asked_at FROM commands WHERE addressee = :addressee AND done_at IS NULL ORDER BY id;

-- mark_done: A command has been carried out.
UPDATE commands SET done_at = :at WHERE id = :id AND done_at IS NULL;

-- mark_all_done: Commands for a process that has ended do not concern its successor.
UPDATE commands SET done_at = :at WHERE addressee = :addressee AND done_at IS NULL;

-- is_done: Whether a command has been carried out; no row once it is forgotten.
SELECT done_at IS NOT NULL FROM commands WHERE id = :id;

-- forget_done: Only the latest commands are kept.
DELETE FROM commands WHERE done_at IS NOT NULL AND id <= :id - 100;

-- clear_commands: Delete all commands; they may name pages and hosts that are being erased.
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

-- create_samples: The past hour of each process and machine: a ring of 3600 rows, one for each second.
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

-- samples_since: The samples since an instant, second by second.
SELECT node, process, s.at, s.figures FROM samples s JOIN vitals v ON v.id = s.beater
WHERE s.at >= :since_at ORDER BY s.at, node, process;

-- end_workers: Workers of a kind, named "kind number", ended with their parent; their past stays.
UPDATE vitals SET state = 'ended' WHERE substr(process, 1, length(:kind)) = :kind;

-- forget_samples: Delete what is older than an hour, and what has no owner.
DELETE FROM samples WHERE at < :before OR beater NOT IN (SELECT id FROM vitals);

-- forget_beaters: Delete processes and machines without a heartbeat for an hour.
DELETE FROM vitals WHERE at < :before;
