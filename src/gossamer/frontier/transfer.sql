-- hosts: Every host.
SELECT name, band, next_at, gap, troubles, failing, failing_since, retired_at, retired_why, visits, left_at, least_gap,
    rested, broken, spent, linked_from
FROM hosts ORDER BY id;

-- urls: Every known URL with its last result.
SELECT h.name, a.id, a.lane, a.text, a.how, f.name, a.source_id, a.depth, a.hops, e.reason, e.failures, e.settled_at,
    e.due_at, e.detail, r.past, s.changed_at, s.every_s
FROM addresses a JOIN hosts h ON h.id = a.host_id LEFT JOIN hosts f ON f.id = a.source_host_id
LEFT JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
LEFT JOIN revisits r ON r.host_id = a.host_id AND r.id = a.id
LEFT JOIN said s ON s.host_id = a.host_id AND s.id = a.id
ORDER BY a.host_id, a.id;

-- queue: What waits, in the order of each lane; with it the instant of the last result.
SELECT h.name, q.lane, q.later_at, q.priority, q.sequence, q.id, e.settled_at
FROM queue q JOIN hosts h ON h.id = q.host_id LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
ORDER BY q.host_id, q.lane, q.later_at, q.priority, q.sequence;

-- failures: Earlier failures of URLs.
SELECT h.name, f.id, f.at, f.reason, f.detail
FROM failures f JOIN hosts h ON h.id = f.host_id ORDER BY f.host_id, f.id, f.at;

-- templates: What the URLs of each template have brought.
SELECT h.name, t.id, t.template, t.fetched, t.fruitful, t.held, t.quarantined_at
FROM templates t JOIN hosts h ON h.id = t.host_id ORDER BY t.host_id, t.id;

-- robots: The robots.txt of each origin.
SELECT h.name, r.lane, r.entry FROM robots r JOIN hosts h ON h.id = r.host_id ORDER BY r.host_id, r.lane;
