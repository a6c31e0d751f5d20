-- ended: A known address that waits for nothing, and how its last visit ended.
SELECT a.host_id, a.id, a.lane, a.depth, e.reason
FROM addresses a JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE a.host_id = ? AND a.id = ? AND e.due_at IS NULL;

-- ended_as: Addresses whose last visit ended in some way, and that wait for nothing.
SELECT a.host_id, a.id, a.lane, a.depth
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.reason = ? AND e.due_at IS NULL;

-- fetched: The same, with how each was met and when that visit was.
SELECT a.host_id, a.id, a.lane, a.depth, a.how, e.settled_at
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE e.reason = ? AND e.due_at IS NULL;

-- past_begun: The least that is remembered of a page that was fetched; what is remembered already stays.
INSERT OR IGNORE INTO revisits (host_id, id, past) VALUES (?, ?, ?);

-- queued_again: It waits again.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id) VALUES (?, ?, ?, ?, ?, ?);

-- end_revived: As if it had never failed; it is due since, or at a later time.
UPDATE ends SET failures = 0, due_at = coalesce(?, settled_at) WHERE host_id = ? AND id = ?;

-- host_got_one: Its host has something to do.
UPDATE hosts SET queued = queued + 1, troubles = 0, lanes = lanes | ?1,
    later_at = CASE WHEN ?2 IS NULL THEN later_at ELSE min(?2, coalesce(later_at, ?2)) END,
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL THEN NULL ELSE next_at END
WHERE id = ?3;

-- robots_forgotten: A robots.txt that could not be read is asked for afresh.
DELETE FROM robots WHERE host_id = ? AND lane = ?;

-- past: What is remembered of a page that comes again.
SELECT past FROM revisits WHERE host_id = ? AND id = ?;

-- past_noted: What is to be remembered of it from now on.
UPDATE revisits SET past = ? WHERE host_id = ? AND id = ?;
