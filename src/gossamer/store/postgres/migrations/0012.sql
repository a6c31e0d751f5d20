-- A cluster: its nodes, their heartbeats and figures, commands to them, and what has happened.

-- The time by the clock that all nodes share.
CREATE FUNCTION micros_now() RETURNS bigint LANGUAGE sql VOLATILE
AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

-- Nodes that have joined. Every start under a name is a new life: the node that had the name before stops.
CREATE SEQUENCE node_lives;
CREATE TABLE nodes (
    name text COLLATE "C" PRIMARY KEY,
    life bigint NOT NULL DEFAULT nextval('node_lives'),
    host text NOT NULL,
    roles text[] NOT NULL,
    labels text[] NOT NULL,
    version text NOT NULL,
    joined_at bigint NOT NULL,
    beat_at bigint NOT NULL,
    state text NOT NULL DEFAULT '',             -- '': running; draining, left
    says text NOT NULL DEFAULT '',              -- what it waits for, for people
    drain_asked_at bigint,
    silent_at bigint                            -- its silence was noticed and is in the event log
);

-- Counters that processes watch: a change of one is a reason to read again what it counts. They are rows, not sequences,
-- because the new value must appear together with the change. 'paused' is no counter: 1 while the cluster is paused.
CREATE TABLE marks (name text PRIMARY KEY, number bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO marks (name, number) VALUES ('paused', 0), ('seeds', 0), ('options', 0), ('documents', 0);

CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE marks SET number = number + 1 WHERE name = TG_TABLE_NAME;
    RETURN NULL;
END $$;
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON seeds FOR EACH STATEMENT EXECUTE FUNCTION note_change();
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON options FOR EACH STATEMENT EXECUTE FUNCTION note_change();
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON documents FOR EACH STATEMENT EXECUTE FUNCTION note_change();

-- What every node must agree on: 'version', the gossamer of this cluster.
CREATE TABLE agreed (name text PRIMARY KEY, value text NOT NULL);

-- Heartbeats and figures pass: they need not survive a crash of the server, so they cost no log.
CREATE UNLOGGED TABLE beats (
    node text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    pid bigint NOT NULL,
    at bigint NOT NULL,
    facts text NOT NULL,
    PRIMARY KEY (node, name)
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE vitals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node text COLLATE "C" NOT NULL,
    process text COLLATE "C" NOT NULL,          -- '': the machine of the node
    host text NOT NULL,                         -- several nodes may be on one machine
    pid bigint NOT NULL,
    at bigint NOT NULL,
    since_at bigint NOT NULL,
    state text NOT NULL,
    version text NOT NULL,
    figures text NOT NULL,
    UNIQUE (node, process)
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE samples (                 -- a ring of 3600 rows each, one for each second
    beater bigint NOT NULL REFERENCES vitals ON DELETE CASCADE,
    slot integer NOT NULL,
    at bigint NOT NULL,
    figures text NOT NULL,
    PRIMARY KEY (beater, slot)
) WITH (fillfactor = 50);

CREATE TABLE commands (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    addressee text NOT NULL,
    verb text NOT NULL,
    args text NOT NULL,
    asked_at bigint NOT NULL,
    claimed_by text,
    claimed_until bigint,
    done_at bigint
);
CREATE INDEX commands_pending ON commands (addressee, id) WHERE done_at IS NULL;

-- What nodes have found of the four services.
CREATE UNLOGGED TABLE services (
    node text COLLATE "C" NOT NULL,
    name text NOT NULL,                         -- database, archive, words, facts
    at bigint NOT NULL,
    away_since bigint,
    latency_ms double precision NOT NULL,
    says text NOT NULL,
    PRIMARY KEY (node, name)
) WITH (fillfactor = 50);

-- What has happened, for people.
CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL DEFAULT micros_now(),
    node text NOT NULL DEFAULT '',
    kind text NOT NULL,
    says text NOT NULL
);

CREATE FUNCTION note_set_aside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (node, kind, says)
    SELECT coalesce(OLD.leased_by, ''), 'work.set-aside',
        v.name || ' is set aside for ' || NEW.view || ': ' || coalesce(NEW.why, 'no reason given')
    FROM volumes v WHERE v.id = NEW.volume_id;
    RETURN NULL;
END $$;
CREATE TRIGGER set_aside AFTER UPDATE OF set_aside_at ON work FOR EACH ROW
WHEN (OLD.set_aside_at IS NULL AND NEW.set_aside_at IS NOT NULL) EXECUTE FUNCTION note_set_aside();
