-- quarantined: Every template in quarantine.
SELECT host_id, name, template FROM templates JOIN hosts ON hosts.id = host_id WHERE quarantined_at IS NOT NULL;

-- learned: A visit was read: what its template has brought so far.
INSERT INTO templates (host_id, id, template, fetched, fruitful) VALUES (?1, ?2, ?3, 1, ?4)
ON CONFLICT (host_id, id) DO UPDATE SET fetched = fetched + 1, fruitful = fruitful + ?4
RETURNING fetched, fruitful, held, quarantined_at;

-- template_quarantined: Addresses of a template are held from now on.
INSERT INTO templates (host_id, id, template, quarantined_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (host_id, id) DO UPDATE SET quarantined_at = coalesce(quarantined_at, ?4);

-- template_held: More addresses of a template are held.
UPDATE templates SET held = held + ? WHERE host_id = ? AND id = ?;

-- template_released: They are held no longer, and what is learned starts afresh.
UPDATE templates SET held = 0, fetched = 0, fruitful = 0, quarantined_at = NULL WHERE host_id = ? AND id = ?;

-- due_of_host: Addresses that wait at a host, in the order of their turns, the one being visited among them.
SELECT q.host_id, q.lane, q.later_at, q.priority, q.sequence, a.text
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane < 2 ORDER BY q.lane, q.later_at, q.priority, q.sequence LIMIT ?;

-- held: One of them is held.
UPDATE queue SET lane = lane + 2 WHERE host_id = ? AND lane = ? AND later_at = ? AND priority = ? AND sequence = ?;

-- held_of_host: Addresses that are held at a host.
SELECT q.host_id, q.lane, q.later_at, q.priority, q.sequence, a.text
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane >= 2;

-- released: One of them waits for its turn again.
UPDATE queue SET lane = lane - 2 WHERE host_id = ? AND lane = ? AND later_at = ? AND priority = ? AND sequence = ?;

-- host_held: More of a host's addresses are held, or fewer.
UPDATE hosts SET held = held + ?1, queued = queued - ?1 WHERE id = ?2;

-- host_woken: A host has something to do again.
UPDATE hosts SET lanes = lanes | ?1,
    later_at = (SELECT min(later_at) FROM queue WHERE host_id = ?2 AND lane < 2 AND later_at > 0),
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ?2;
