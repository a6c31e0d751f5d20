-- address: What is stored of an address.
SELECT a.lane, a.text, a.how, a.source_host_id, a.source_id, a.depth, a.hops,
    e.failures, e.reason, e.detail, e.settled_at, e.due_at
FROM addresses a LEFT JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE a.host_id = ? AND a.id = ?;

-- place: Where it waits. This looks at all that waits at its host.
SELECT lane, priority, later_at FROM queue WHERE host_id = ? AND id = ?;

-- host_id: The id of a host.
SELECT id FROM hosts WHERE name = ?;

-- host_name: Who has this host id.
SELECT name FROM hosts WHERE id = ?;

-- robots_entry: What an origin's robots.txt said.
SELECT entry FROM robots WHERE host_id = ? AND lane = ?;

-- failures_of: Failed visits to a URL before the last one, the newest first.
SELECT at, reason, detail FROM failures WHERE host_id = ? AND id = ? ORDER BY at DESC;

-- past: What is remembered of a page that comes again.
SELECT past FROM revisits WHERE host_id = ? AND id = ?;

-- ended_one: One of them.
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

-- details_as: What was stored with URLs that ended in one way.
SELECT detail, count(*) FROM ends WHERE reason = ? AND detail IS NOT NULL
GROUP BY detail ORDER BY count(*) DESC, detail LIMIT ?;

-- details_at: The same at one host.
SELECT detail, count(*) FROM ends WHERE host_id = ? AND reason = ? AND detail IS NOT NULL
GROUP BY detail ORDER BY count(*) DESC, detail LIMIT ?;
