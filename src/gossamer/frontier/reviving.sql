-- ended: A known address that waits for nothing, and how its last visit ended.
SELECT host_id, id, url, depth, reason FROM addresses WHERE host_id = ? AND id = ? AND url = ? AND is_queued = 0;

-- given_up: Every address that was given up because its robots.txt could not be read.
SELECT host_id, id, url, depth, reason FROM addresses WHERE reason = 'robots-unreachable' AND is_queued = 0;

-- queued_first: It waits again, before the others of its depth.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT ?1, ?2, 0, ?3, coalesce(min(sequence), 0) - 1, ?4 FROM queue WHERE host_id = ?1 AND lane = ?2;

-- address_revived: As if it had never failed.
UPDATE addresses SET is_queued = 1, failures = 0, due_at = NULL WHERE host_id = ? AND id = ?;

-- host_got_one: Its host has something to do.
UPDATE hosts SET queued = queued + 1, troubles = 0, ready_at = CASE WHEN leased THEN NULL ELSE next_at END WHERE id = ?;

-- robots_forgotten: A robots.txt that could not be read is asked for afresh.
DELETE FROM robots WHERE host_id = ? AND lane = ?;
