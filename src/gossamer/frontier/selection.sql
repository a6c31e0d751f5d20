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

-- over_as: Those that ended in one way and wait for nothing.
SELECT a.host_id, a.id, a.lane, a.depth, a.how, e.reason, e.due_at, e.settled_at
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.reason = ? AND e.due_at IS NULL;

-- redirects: Redirects that were followed, oldest first, by the index on reasons.
SELECT a.lane, h.name, a.text, a.depth, a.hops, a.how, e.detail, e.settled_at, e.host_id, e.id
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE e.reason = ? AND (e.settled_at, e.host_id, e.id) > (?, ?, ?) ORDER BY e.settled_at, e.host_id, e.id LIMIT ?;

-- past_noted: What to remember about a page from now on.
UPDATE revisits SET past = ? WHERE host_id = ? AND id = ?;
