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
