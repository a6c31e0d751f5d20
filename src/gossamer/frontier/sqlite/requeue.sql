-- ended_all: Visited URLs after a key.
SELECT e.host_id, e.id, a.lane, a.depth, a.how, e.reason, e.due_at, e.settled_at, e.host_id, e.id
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE (e.host_id, e.id) > (?, ?) ORDER BY e.host_id, e.id LIMIT ?;

-- ended_at: Those of one host.
SELECT e.host_id, e.id, a.lane, a.depth, a.how, e.reason, e.due_at, e.settled_at, e.id
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.host_id = ? AND e.id > ? ORDER BY e.id LIMIT ?;

-- ended_as: Those that ended in one way, by the index on reasons.
SELECT e.host_id, e.id, a.lane, a.depth, a.how, e.reason, e.due_at, e.settled_at, e.settled_at, e.host_id, e.id
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.reason = ? AND (e.settled_at, e.host_id, e.id) > (?, ?, ?) ORDER BY e.settled_at, e.host_id, e.id LIMIT ?;

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

-- redirects: Redirects that were met, in the order of time, by the index on reasons.
SELECT a.lane, h.name, a.text, a.depth, a.hops, a.how, e.detail, e.settled_at, e.host_id, e.id
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE e.reason = ? AND (e.settled_at, e.host_id, e.id) > (?, ?, ?) ORDER BY e.settled_at, e.host_id, e.id LIMIT ?;

-- failures_of: Failed visits to a URL before the last one, the newest first.
SELECT at, reason, detail FROM failures WHERE host_id = ? AND id = ? ORDER BY at DESC;
