-- next_ends: The next addresses that were visited, in the order of their keys, and how their last visits ended.
SELECT e.host_id, e.id, lane, name, text, how, depth, hops, reason, detail, failures, settled_at, due_at
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE (e.host_id, e.id) > (?, ?)
ORDER BY e.host_id, e.id LIMIT ?;
