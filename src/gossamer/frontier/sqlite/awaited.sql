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
