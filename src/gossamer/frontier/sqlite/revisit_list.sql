-- remembered: Pages that come again, what is known of each, and when its visit is due; of one host, or of all (NULL).
SELECT h.name, a.lane, a.text, e.due_at, r.past
FROM hosts h CROSS JOIN revisits r ON r.host_id = h.id CROSS JOIN addresses a ON a.host_id = r.host_id AND a.id = r.id
LEFT JOIN ends e ON e.host_id = r.host_id AND e.id = r.id
WHERE :host IS NULL OR h.name = :host;
