-- queued: Every address that waits, host by host.
SELECT q.lane, h.name, a.text, a.depth
FROM queue q JOIN hosts h ON h.id = q.host_id JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.lane < 2;

-- held: Every address in quarantine, or those of one host.
SELECT q.lane, h.name, a.text
FROM hosts h JOIN queue q ON q.host_id = h.id AND q.lane >= 2 JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE h.held > 0 AND (?1 IS NULL OR h.name = ?1);

-- ledger: What hosts were promised and got.
SELECT name, visits, gap, least_gap, rested, rests, broken FROM hosts WHERE visits > 0 ORDER BY name;

-- host_ledger: The same of one host.
SELECT name, visits, gap, least_gap, rested, rests, broken FROM hosts WHERE visits > 0 AND name = ?;

-- hosts: How every host stands.
SELECT name, queued, held, errands, leased, in_back, band, next_at, ready_at, later_at, gap, crawl_delay_s, troubles,
    failing, failing_since, retired_at, retired_why, visits, spent, linked_from
FROM hosts ORDER BY name;

-- host: How one host stands.
SELECT name, queued, held, errands, leased, in_back, band, next_at, ready_at, later_at, gap, crawl_delay_s, troubles,
    failing, failing_since, retired_at, retired_why, visits, spent, linked_from
FROM hosts WHERE name = ?;

-- templates: What is known of address patterns, of one host or all.
SELECT h.name, t.template, t.fetched, t.fruitful, t.held, t.quarantined_at
FROM templates t JOIN hosts h ON h.id = t.host_id WHERE ?1 IS NULL OR h.name = ?1 ORDER BY h.name, t.template;

-- before: How many due addresses of a lane go before the one with this priority and text.
SELECT count(*) FROM queue q
WHERE q.host_id = (SELECT id FROM hosts WHERE name = ?1) AND q.lane = ?2 AND q.later_at = 0
    AND (q.priority, q.sequence) < (?3, (
        SELECT min(w.sequence) FROM queue w JOIN addresses a ON a.host_id = w.host_id AND a.id = w.id
        WHERE w.host_id = (SELECT id FROM hosts WHERE name = ?1) AND w.lane = ?2 AND a.text = ?4));

-- every_end: Each address that was visited, and how its last visit ended.
SELECT lane, name, text, reason
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id;

-- in_front: The first host of each front queue, and when it may be looked at.
WITH bands (band) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7))
SELECT (SELECT id FROM hosts WHERE hosts.band = bands.band AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1) FROM bands;

-- first_of: Of these hosts (a JSON array of ids) the one that may be looked at first.
SELECT id, name, lanes, troubles, max(next_at, coalesce(ready_at, 0)) AS at FROM hosts
WHERE id IN (SELECT value FROM json_each(?)) AND queued > 0 AND NOT leased ORDER BY at LIMIT 1;

-- first_in_lane: What is visited next in a lane of a host, due or not, and how its last visit ended.
SELECT q.later_at, a.text, e.reason, coalesce(e.failures, 0), coalesce(e.detail, '')
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
WHERE q.host_id = ? AND q.lane = ? ORDER BY q.later_at, q.priority, q.sequence LIMIT 1;
