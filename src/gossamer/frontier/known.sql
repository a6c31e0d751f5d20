-- address: What is stored about a URL.
SELECT a.lane, a.text, a.how, a.source_host_id, a.source_id, a.depth, a.hops,
    e.failures, e.reason, e.detail, e.settled_at, e.due_at
FROM addresses a LEFT JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE a.host_id = ? AND a.id = ?;

-- place: Its row of the queue. This searches all that waits at its host.
SELECT lane, priority, later_at FROM queue WHERE host_id = ? AND id = ?;

-- host_id: The id of a host.
SELECT id FROM hosts WHERE name = ?;

-- host_name: The name of a host id.
SELECT name FROM hosts WHERE id = ?;

-- robots_entry: The stored robots.txt of an origin.
SELECT entry FROM robots WHERE host_id = ? AND lane = ?;

-- failures_of: Failed visits to a URL before the last one, newest first.
SELECT at, reason, detail FROM failures WHERE host_id = ? AND id = ? ORDER BY at DESC;

-- past: What is remembered about a page that is revisited.
SELECT past FROM revisits WHERE host_id = ? AND id = ?;

-- ended_one: One visited URL by key.
SELECT e.host_id, e.id, a.lane, a.depth, a.how, e.reason, e.due_at, e.settled_at
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.host_id = ? AND e.id = ?;

-- counted_at: How the URLs of a host ended.
SELECT reason, count(*) FROM ends WHERE host_id = ? GROUP BY reason;

-- examples_as: A few URLs that ended in one way, the latest first.
SELECT a.lane, h.name, a.text FROM ends e
JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE e.reason = ? ORDER BY e.settled_at DESC LIMIT ?;

-- examples_at: The same at one host.
SELECT a.lane, h.name, a.text FROM ends e
JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE e.host_id = ? AND e.reason = ? LIMIT ?;

-- details_as: The details stored with URLs that ended in one way.
SELECT detail, count(*) FROM ends WHERE reason = ? AND detail IS NOT NULL
GROUP BY detail ORDER BY count(*) DESC, detail LIMIT ?;

-- details_at: The same at one host.
SELECT detail, count(*) FROM ends WHERE host_id = ? AND reason = ? AND detail IS NOT NULL
GROUP BY detail ORDER BY count(*) DESC, detail LIMIT ?;
