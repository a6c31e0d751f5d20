-- look: What a process follows: the time, the marks, and every heartbeat.
SELECT micros_now(), (SELECT json_object_agg(name, number) FROM marks),
    (SELECT json_agg(json_build_array(node, name, pid, at, facts) ORDER BY node, name) FROM beats);

-- claim: The commands for one kind of process become the caller's, unless another process is carrying some out.
UPDATE commands c SET claimed_by = %(me)s, claimed_until = micros_now() + %(for_us)s
WHERE addressee = %(addressee)s AND done_at IS NULL
    AND (claimed_by = %(me)s OR claimed_until IS NULL OR claimed_until < micros_now())
    AND NOT EXISTS (SELECT FROM commands o WHERE o.addressee = c.addressee AND o.done_at IS NULL
        AND o.claimed_by <> %(me)s AND o.claimed_until >= micros_now())
RETURNING id, verb, args, asked_at;

-- put_beat: The newest heartbeat replaces the one before.
INSERT INTO beats (node, name, pid, at, facts) VALUES (%(node)s, %(name)s, %(pid)s, micros_now(), %(facts)s)
ON CONFLICT (node, name) DO UPDATE SET pid = excluded.pid, at = excluded.at, facts = excluded.facts;

-- put_vitals: The newest figures replace those before, and take the place of those an hour ago in the ring.
WITH given AS (
    SELECT g.*, micros_now() AS at FROM json_to_recordset(%(vitals)s::json)
    AS g (node text, process text, pid bigint, ago bigint, state text, version text, figures text)
    ORDER BY node, process
), noted AS (
    INSERT INTO vitals (node, process, host, pid, at, since_at, state, version, figures)
    SELECT node, process, %(host)s, pid, at, at - ago, state, version, figures FROM given
    ON CONFLICT (node, process) DO UPDATE SET host = excluded.host, pid = excluded.pid, at = excluded.at,
        since_at = excluded.since_at, state = excluded.state, version = excluded.version, figures = excluded.figures
    RETURNING id, at, state, figures
)
INSERT INTO samples (beater, slot, at, figures)
SELECT id, at / 1000000 %% 3600, at, figures FROM noted WHERE state <> 'ended'
ON CONFLICT (beater, slot) DO UPDATE SET at = excluded.at, figures = excluded.figures;

-- end_workers: Workers of a kind, named "kind number", ended with their parent; their past stays.
UPDATE vitals SET state = 'ended' WHERE node = %(node)s AND starts_with(process, %(kind)s) AND state <> 'ended';

-- forget_vitals: Delete processes and machines without a heartbeat for an hour, with their samples.
DELETE FROM vitals WHERE at < micros_now() - 3600000000;

-- forget_samples: Delete what is older than an hour.
DELETE FROM samples WHERE at < micros_now() - 3600000000;

-- forget_beats: Delete the last heartbeats of processes that have been silent for an hour.
DELETE FROM beats WHERE at < micros_now() - 3600000000;

-- every_vitals: The last figures of every process and machine.
SELECT micros_now(), node, process, pid, at, since_at, state, version, figures, host FROM vitals ORDER BY node, process;

-- samples_since: The samples of so many microseconds, second by second.
SELECT micros_now(), v.node, v.process, s.at, s.figures FROM samples s JOIN vitals v ON v.id = s.beater
WHERE s.at >= micros_now() - %(past)s ORDER BY s.at, v.node, v.process;

-- pause: All crawlers of the cluster pause (1) or go on (0).
UPDATE marks SET number = %(number)s WHERE name = 'paused';

-- commands_in_turn: One process at a time leaves a command, until its transaction ends.
LOCK TABLE commands IN SHARE ROW EXCLUSIVE MODE;

-- same_pending: The same command, if it is the last one and not yet done.
SELECT id FROM (
    SELECT id, verb, args FROM commands WHERE addressee = %(addressee)s AND done_at IS NULL ORDER BY id DESC LIMIT 1
) last WHERE verb = %(verb)s AND args = %(args)s;

-- put_command: Add a command; its id.
INSERT INTO commands (addressee, verb, args, asked_at, done_at)
VALUES (%(addressee)s, %(verb)s, %(args)s, micros_now(), CASE WHEN %(is_done)s THEN micros_now() END) RETURNING id;

-- forget_done: Only the latest commands are kept.
DELETE FROM commands WHERE done_at IS NOT NULL AND id <= %(id)s - 100;

-- mark_done: Commands have been carried out.
UPDATE commands SET done_at = micros_now() WHERE id = ANY(%(ids)s) AND done_at IS NULL;

-- is_done: Whether a command has been carried out; no row once it is forgotten.
SELECT done_at IS NOT NULL FROM commands WHERE id = %(id)s;

-- clear_commands: Delete all commands; they may name pages and hosts that are being erased.
DELETE FROM commands WHERE addressee = %(addressee)s;
