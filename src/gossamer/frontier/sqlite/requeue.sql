-- past_begun: The first record of a fetched page; an existing one stays.
INSERT OR IGNORE INTO revisits (host_id, id, past) VALUES (?, ?, ?);

-- queued_again: It waits again.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id) VALUES (?, ?, ?, ?, ?, ?);

-- end_revived: As if it had never failed; it is due now, or at a later time.
UPDATE ends SET failures = 0, due_at = coalesce(?, settled_at) WHERE host_id = ? AND id = ?;

-- host_got_one: Its host has something to do.
UPDATE hosts SET queued = queued + 1, lanes = lanes | ?1,
    later_at = CASE WHEN ?2 IS NULL THEN later_at ELSE min(?2, coalesce(later_at, ?2)) END,
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL THEN NULL ELSE next_at END
WHERE id = ?3;

-- host_forgiven: It starts again without failures.
UPDATE hosts SET troubles = 0, failing = 0, failing_since = NULL WHERE id = ?;

-- robots_forgotten: A robots.txt is requested again.
DELETE FROM robots WHERE host_id = ? AND lane = ?;

-- past_noted: What to remember about a page from now on.
UPDATE revisits SET past = ? WHERE host_id = ? AND id = ?;

-- waits_until: The lane of a URL, and when it is due.
SELECT a.lane, e.due_at FROM addresses a JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE a.host_id = ? AND a.id = ?;

-- queued_sooner: A page that waits for a later time is due earlier. A leased visit is in no such row.
UPDATE queue SET later_at = ?1 WHERE host_id = ?2 AND lane = ?3 AND later_at = ?4 AND id = ?5;

-- end_sooner: And its end says so.
UPDATE ends SET due_at = ? WHERE host_id = ? AND id = ?;

-- host_sooner: Its host has something due by then; in a back queue, or leased, it is checked anyway.
UPDATE hosts SET later_at = min(?1, coalesce(later_at, ?1)),
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL THEN ready_at
        ELSE min(max(next_at, ?1), coalesce(ready_at, max(next_at, ?1))) END
WHERE id = ?2;

-- plans: How many pages wait for each day at each host. Pages that are due are in no such row.
SELECT h.name, q.later_at / :day, count(*)
FROM hosts h JOIN queue q ON q.host_id = h.id AND q.lane IN (0, 1) AND q.later_at > 0
WHERE h.later_at IS NOT NULL
GROUP BY h.id, q.later_at / :day;
