-- newest: Ends of one kind before a position, the newest first. Read as far as one likes: the index has this order.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM ends e CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id CROSS JOIN hosts h ON h.id = e.host_id
WHERE e.reason = :reason AND e.settled_at BETWEEN :since_at AND :until_at
    AND (e.settled_at, e.host_id, e.id) < (:at, :host_id, :id)
ORDER BY e.settled_at DESC, e.host_id DESC, e.id DESC;

-- oldest: The same, after a position, the oldest first.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM ends e CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id CROSS JOIN hosts h ON h.id = e.host_id
WHERE e.reason = :reason AND e.settled_at BETWEEN :since_at AND :until_at
    AND (e.settled_at, e.host_id, e.id) > (:at, :host_id, :id)
ORDER BY e.settled_at, e.host_id, e.id;

-- of_host: Ends at one host, in no order, at most so many.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM hosts h CROSS JOIN ends e ON e.host_id = h.id CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE h.name = :name AND e.settled_at BETWEEN :since_at AND :until_at
LIMIT :most;
