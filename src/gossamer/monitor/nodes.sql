-- known: The node of this name.
SELECT life, host, state, beat_at > micros_now() - %(silent_us)s FROM nodes WHERE name = %(name)s;

-- join: A node begins a new life under its name.
INSERT INTO nodes (name, host, roles, labels, version, joined_at, beat_at)
VALUES (%(name)s, %(host)s, %(roles)s, %(labels)s, %(version)s, micros_now(), micros_now())
ON CONFLICT (name) DO UPDATE SET life = nextval('node_lives'), host = excluded.host, roles = excluded.roles,
    labels = excluded.labels, version = excluded.version, joined_at = excluded.joined_at, beat_at = excluded.beat_at,
    state = '', says = '', drain_asked_at = NULL, silent_at = NULL
RETURNING life;

-- renew: A node is alive; whether it was thought silent, and whether it should drain.
UPDATE nodes n SET beat_at = micros_now(), state = %(state)s, says = %(says)s, silent_at = NULL
FROM (SELECT name, silent_at FROM nodes WHERE name = %(name)s FOR UPDATE) before
WHERE n.name = before.name AND n.life = %(life)s RETURNING before.silent_at IS NOT NULL, n.drain_asked_at IS NOT NULL;

-- silent: Nodes that have just been noticed to be silent.
UPDATE nodes SET silent_at = micros_now() WHERE name IN (
    SELECT name FROM nodes WHERE beat_at < micros_now() - %(silent_us)s AND silent_at IS NULL AND state <> 'left'
    FOR UPDATE SKIP LOCKED)
RETURNING name, beat_at;

-- leave: A node ends in order.
UPDATE nodes SET state = 'left', says = %(says)s, beat_at = micros_now(), silent_at = NULL
WHERE name = %(name)s AND life = %(life)s;

-- labels: Of one node.
SELECT labels FROM nodes WHERE name = %(name)s;

-- every_node: All nodes, with the hosts their crawlers have leased.
SELECT micros_now(), n.name, n.host, n.roles, n.labels, n.version, n.joined_at, n.beat_at, n.state, n.says,
    n.drain_asked_at IS NOT NULL,
    (SELECT count(*) FROM hosts h WHERE h.is_leased AND h.worker_id = (SELECT w.id FROM workers w WHERE w.name = n.name))
FROM nodes n ORDER BY n.name;

-- working: Rows of work that indexers have leased, by who has them.
SELECT leased_by, count(*) FROM work WHERE leased_until >= micros_now() GROUP BY leased_by;

-- drain: A node should finish what it does, and leave.
UPDATE nodes SET drain_asked_at = micros_now() WHERE name = %(name)s RETURNING state;

-- drop: Forget a node.
DELETE FROM nodes WHERE name = %(name)s;

-- drop_beats: Its heartbeats,
DELETE FROM beats WHERE node = %(name)s;

-- drop_vitals: its figures,
DELETE FROM vitals WHERE node = %(name)s;

-- drop_services: and what it found of the services.
DELETE FROM services WHERE node = %(name)s;

-- return_work: What its indexers had leased is free at once.
UPDATE work SET leased_until = NULL, leased_by = NULL WHERE leased_by = %(name)s OR starts_with(leased_by, %(name)s || ' ');

-- options: Every setting of the cluster.
SELECT name, value FROM options;

-- agreed: The version of gossamer that all nodes must have.
SELECT value FROM agreed WHERE name = 'version';

-- agree: The first node decides, unless `cluster upgrade` has.
INSERT INTO agreed (name, value) VALUES ('version', %(version)s) ON CONFLICT (name) DO NOTHING;

-- upgrade: From now on nodes must have this version.
INSERT INTO agreed (name, value) VALUES ('version', %(version)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- others: Living nodes of other versions.
SELECT name FROM nodes WHERE version <> %(version)s AND state <> 'left' AND beat_at > micros_now() - %(silent_us)s
ORDER BY name;

-- put_service: What a node has found of a service.
INSERT INTO services (node, name, at, away_since, latency_ms, says)
VALUES (%(node)s, %(name)s, micros_now(), CASE WHEN %(is_away)s THEN micros_now() END, %(latency_ms)s, %(says)s)
ON CONFLICT (node, name) DO UPDATE SET at = excluded.at, latency_ms = excluded.latency_ms, says = excluded.says,
    away_since = CASE WHEN %(is_away)s THEN coalesce(services.away_since, excluded.away_since) END;

-- services: What living nodes have found lately.
SELECT micros_now(), s.name, s.node, s.away_since, s.latency_ms, s.says FROM services s
WHERE s.at >= micros_now() - %(lately_us)s ORDER BY s.name, s.node;

-- server: Whether the database is a standby, its version, and the standbys that follow it.
SELECT pg_is_in_recovery(), current_setting('server_version'), (SELECT count(*) FROM pg_stat_replication);

-- backlog: What waits for each view.
SELECT view, coalesce(sum(beyond - first) FILTER (WHERE set_aside_at IS NULL), 0)::bigint,
    ((micros_now() - min(added_at) FILTER (WHERE set_aside_at IS NULL AND NOT is_rebuild)) / 1000000.0)::double precision,
    count(*) FILTER (WHERE set_aside_at IS NOT NULL)
FROM work GROUP BY view;

-- put_event: Something happened, so many microseconds ago.
INSERT INTO events (at, node, kind, says) VALUES (micros_now() - %(ago)s, %(node)s, %(kind)s, %(says)s);

-- events: The latest events after one, oldest first.
SELECT micros_now(), id, at, node, kind, says FROM (
    SELECT * FROM events WHERE id > %(after)s ORDER BY id DESC LIMIT %(most)s
) latest ORDER BY id;

-- forget_events: Events are kept for 30 days, and at most 100,000 of them.
DELETE FROM events WHERE at < micros_now() - 30 * 86400000000
    OR id <= (SELECT max(id) FROM events) - 100000;

-- forget_nodes: A node that left is remembered for a day.
DELETE FROM nodes WHERE state = 'left' AND beat_at < micros_now() - 86400000000;
