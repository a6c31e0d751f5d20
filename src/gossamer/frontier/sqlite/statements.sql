-- host_added: A new host.
INSERT INTO hosts (name) VALUES (?) RETURNING id;

-- hosts_looked_at: What leasing visits at hosts needs to know; their ids are a JSON array.
SELECT id, name, lanes, errands, later_at, crawl_delay_s, troubles, next_at, left_at, failing, failing_since,
    visits, spent, linked_from
FROM hosts WHERE id IN (SELECT value FROM json_each(?));

-- front_ready: Hosts of a front queue that may be visited, the longest ready first.
SELECT id, name, ready_at FROM hosts WHERE band = ? AND ready_at <= ? ORDER BY ready_at LIMIT ?;

-- front_first: The earliest instant at which a host may leave its front queue.
WITH bands (band) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7))
SELECT min((SELECT min(ready_at) FROM hosts WHERE hosts.band = bands.band AND ready_at IS NOT NULL)) FROM bands;

-- host_entered: A host gets a back queue.
UPDATE hosts SET in_back = 1, ready_at = NULL WHERE id = ?;

-- host_leased: A visit to the host is leased; nothing else is sent to the host before next_at, even after a crash.
UPDATE hosts SET leased = 1, next_at = ?, gap = ?, later_at = ?, band = ? WHERE id = ?;

-- host_waits: The host has nothing to lease before ready_at; it loses its back queue.
UPDATE hosts SET in_back = 0, later_at = ?2,
    ready_at = CASE WHEN queued = 0 OR retired_at IS NOT NULL THEN NULL ELSE ?1 END
WHERE id = ?3;

-- host_settled: The visit is over; the host keeps its back queue (?13) if it has more URLs and may. The first eleven
-- parameters are those of HostAfter; ?6, why it is retired, is stored by another statement.
UPDATE hosts SET leased = 0, next_at = ?1, gap = ?2, troubles = ?3, failing = ?4, failing_since = ?5,
    visits = visits + ?7, spent = spent + ?8, left_at = ?9,
    least_gap = CASE WHEN ?10 IS NULL THEN least_gap ELSE min(?10, coalesce(least_gap, ?10)) END,
    rests = rests + (?10 IS NOT NULL), rested = rested + coalesce(?10, 0), broken = broken + ?11,
    queued = queued - ?12, in_back = ?13 AND queued - ?12 > 0, band = ?14,
    later_at = CASE WHEN ?15 IS NULL THEN later_at ELSE min(?15, coalesce(later_at, ?15)) END,
    ready_at = CASE WHEN queued - ?12 > 0 AND NOT ?13 AND retired_at IS NULL THEN ?1 END
WHERE id = ?16;

-- hosts_in_back: Which of these hosts (a JSON array of ids) have a back queue.
SELECT id FROM hosts WHERE in_back AND id IN (SELECT value FROM json_each(?));

-- host_got_errands: The number of robots.txt requests to make at a host for others changes.
UPDATE hosts SET errands = errands + ?1, queued = queued + ?1,
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued + ?1 = 0 THEN NULL ELSE next_at END
WHERE id = ?2;

-- host_woken: Something a host waited for has happened.
UPDATE hosts SET
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ?;

-- host_lost: A host has fewer URLs to visit.
UPDATE hosts SET queued = queued - ? WHERE id = ?;

-- respelt: A URL redirects to another spelling of itself, which replaces it.
UPDATE addresses SET text = ?, hops = hops + 1 WHERE host_id = ? AND id = ?;

-- host_asked: The crawl delay of a host, from its robots.txt files.
UPDATE hosts SET crawl_delay_s = ?1, gap = max(gap, ?2),
    next_at = CASE WHEN left_at IS NULL THEN next_at ELSE max(next_at, left_at + ?2) END
WHERE id = ?3;

-- first_due: The next page of a lane.
SELECT q.priority, q.sequence, q.id, a.text, a.how, a.depth, a.hops, e.failures, e.reason, e.detail,
    s.changed_at, s.every_s
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
LEFT JOIN said s ON s.host_id = q.host_id AND s.id = q.id
WHERE q.host_id = ? AND q.lane = ? AND q.later_at = 0
ORDER BY q.priority, q.sequence LIMIT 1;

-- past_kept: What to remember about a page that is revisited.
INSERT OR REPLACE INTO revisits (host_id, id, past) VALUES (?, ?, ?);

-- said: What a sitemap or feed says about the changes of a URL.
INSERT OR REPLACE INTO said (host_id, id, changed_at, every_s) VALUES (?, ?, ?, ?);

-- best_due: The priority of the next page of a lane.
SELECT priority FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0 ORDER BY priority LIMIT 1;

-- became_due: Pages whose time has come.
UPDATE queue SET later_at = 0 WHERE host_id = ? AND lane = ? AND later_at > 0 AND later_at <= ?;

-- first_later: When the next page of a lane will be due.
SELECT min(later_at) FROM queue WHERE host_id = ? AND lane = ? AND later_at > 0;

-- unqueued: A visited page leaves the queue.
DELETE FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- queued_later: A visited page waits for its next visit, with this place in the queue.
UPDATE queue SET later_at = ?, priority = ?, sequence = ?
WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- ended: How the visit to a URL ended.
INSERT OR REPLACE INTO ends (host_id, id, reason, failures, settled_at, due_at, detail) VALUES (?, ?, ?, ?, ?, ?, ?);

-- failure_kept: The result of a visit is kept as an earlier failure.
INSERT OR IGNORE INTO failures (host_id, id, at, reason, detail)
SELECT host_id, id, settled_at, reason, substr(detail, 1, 200) FROM ends WHERE host_id = ? AND id = ?;

-- failures_thinned: All but the newest are removed.
DELETE FROM failures WHERE host_id = ?1 AND id = ?2 AND at < (
    SELECT at FROM failures WHERE host_id = ?1 AND id = ?2 ORDER BY at DESC LIMIT 1 OFFSET ?3);

-- lane_failures_kept: The same for the pages that wait in a lane; the codes of failures are a JSON array.
INSERT OR IGNORE INTO failures (host_id, id, at, reason, detail)
SELECT e.host_id, e.id, e.settled_at, e.reason, substr(e.detail, 1, 200)
FROM queue q JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
WHERE q.host_id = ? AND q.lane = ? AND e.reason IN (SELECT value FROM json_each(?));

-- lane_reasons: The last reasons of the pages that wait in a lane.
SELECT e.reason, count(*) FROM queue q LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
WHERE q.host_id = ? AND q.lane = ? GROUP BY e.reason;

-- lane_given_up: The pages that wait in a lane are settled without a visit.
INSERT OR REPLACE INTO ends (host_id, id, reason, failures, settled_at, due_at, detail)
SELECT q.host_id, q.id, ?1, coalesce(e.failures, 0), ?2, NULL, ?3
FROM queue q LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id WHERE q.host_id = ?4 AND q.lane = ?5;

-- lane_emptied: And leave the queue.
DELETE FROM queue WHERE host_id = ? AND lane = ?;

-- robots_kept: The robots.txt of an origin.
INSERT OR REPLACE INTO robots (host_id, lane, expires_at, entry) VALUES (?, ?, ?, ?);

-- errand_added: A robots.txt has moved to a host: it is requested there.
INSERT OR IGNORE INTO errands (host_id, for_host_id, for_lane, url) VALUES (?, ?, ?, ?);

-- errand_first: A moved robots.txt to request at a host.
SELECT for_host_id, for_lane, url FROM errands WHERE host_id = ? LIMIT 1;

-- errand_done: It was requested.
DELETE FROM errands WHERE host_id = ? AND for_host_id = ? AND for_lane = ?;

-- meta: A number about the database.
SELECT number FROM meta WHERE name = ?;

-- meta_set: The same, changed.
INSERT OR REPLACE INTO meta (name, number) VALUES (?, ?);

-- hosts_rested: After an unclean stop, hosts that were leased or still in their gap wait a full gap from now.
UPDATE hosts SET next_at = max(next_at, ?1 + max(gap, ?2)), ready_at = max(ready_at, next_at, ?1 + max(gap, ?2))
WHERE leased OR next_at > ?1;

-- hosts_shifted: The clock was set: promises keep their distance from now.
UPDATE hosts SET next_at = max(0, next_at + ?1), ready_at = max(0, ready_at + ?1), left_at = left_at + ?1,
    later_at = max(1, later_at + ?1), failing_since = failing_since + ?1;

-- queue_shifted: And so do URLs that wait for a later time.
UPDATE queue SET later_at = max(1, later_at + ?1)
WHERE later_at > 0 AND host_id IN (SELECT id FROM hosts WHERE later_at IS NOT NULL);

-- hosts_returned: No visit is leased and there are no back queues; URLs of leased visits are still in the queue.
UPDATE hosts SET leased = 0, in_back = 0,
    ready_at = CASE WHEN queued > 0 AND retired_at IS NULL THEN max(next_at, coalesce(ready_at, 0)) END
WHERE leased OR in_back;

-- backs_dissolved: The back queues in memory are lost; their hosts return to the front.
UPDATE hosts SET in_back = 0,
    ready_at = CASE WHEN queued > 0 AND retired_at IS NULL THEN next_at END
WHERE in_back AND NOT leased;

-- lease_returned: A visit will not be settled; something may just have been sent to its host.
UPDATE hosts SET next_at = max(next_at, ?1 + max(gap, ?2)) WHERE id = ?3;

-- leased_none: The counter of leases starts again.
UPDATE tallies SET number = 0 WHERE name = 'leased';

-- retired: A host is not visited any more.
UPDATE hosts SET retired_at = ?, retired_why = ?, ready_at = NULL, in_back = 0 WHERE id = ? AND retired_at IS NULL;

-- reinstated: It is visited again.
UPDATE hosts SET retired_at = NULL, retired_why = NULL, troubles = 0, failing = 0, failing_since = NULL,
    ready_at = CASE WHEN leased OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ? AND retired_at IS NOT NULL;

-- is_known: Whether a URL is known.
SELECT 1 FROM addresses WHERE host_id = ? AND id = ?;

-- quarantined: Every template in quarantine.
SELECT host_id, name, template FROM templates JOIN hosts ON hosts.id = host_id WHERE quarantined_at IS NOT NULL;

-- learned: A page was read: what its template has brought so far.
INSERT INTO templates (host_id, id, template, fetched, fruitful) VALUES (?1, ?2, ?3, 1, ?4)
ON CONFLICT (host_id, id) DO UPDATE SET fetched = fetched + 1, fruitful = fruitful + ?4
RETURNING fetched, fruitful, quarantined_at;

-- template_quarantined: URLs of a template are held from now on.
INSERT INTO templates (host_id, id, template, quarantined_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (host_id, id) DO UPDATE SET quarantined_at = coalesce(quarantined_at, ?4);

-- template_held: More URLs of a template are held.
UPDATE templates SET held = held + ? WHERE host_id = ? AND id = ?;

-- template_released: They are held no longer, and its counts start again.
UPDATE templates SET held = 0, fetched = 0, fruitful = 0, quarantined_at = NULL WHERE host_id = ? AND id = ?;

-- due_of_host: URLs that wait at a host, in the order of their turns, the leased one included.
SELECT q.host_id, q.lane, q.later_at, q.priority, q.sequence, a.text
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane < 2 ORDER BY q.lane, q.later_at, q.priority, q.sequence LIMIT ?;

-- held: One of them is held.
UPDATE queue SET lane = lane + 2 WHERE host_id = ? AND lane = ? AND later_at = ? AND priority = ? AND sequence = ?;

-- held_of_host: URLs that are held at a host.
SELECT q.host_id, q.lane, q.later_at, q.priority, q.sequence, a.text
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane >= 2;

-- released: One of them is queued again.
UPDATE queue SET lane = lane - 2 WHERE host_id = ? AND lane = ? AND later_at = ? AND priority = ? AND sequence = ?;

-- host_held: More URLs of a host are held, or fewer.
UPDATE hosts SET held = held + ?1, queued = queued - ?1 WHERE id = ?2;

-- host_resumed: A host has something to do again.
UPDATE hosts SET lanes = lanes | ?1,
    later_at = (SELECT min(later_at) FROM queue WHERE host_id = ?2 AND lane < 2 AND later_at > 0),
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ?2;
