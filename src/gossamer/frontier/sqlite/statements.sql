-- host_added: A new host.
INSERT INTO hosts (name) VALUES (?) RETURNING id;

-- hosts_looked_at: What taking visits at hosts needs to know; their ids come as a JSON array.
SELECT id, name, lanes, errands, later_at, crawl_delay_s, troubles, next_at, left_at, failing, failing_since,
    visits, spent, linked_from
FROM hosts WHERE id IN (SELECT value FROM json_each(?));

-- front_ready: Hosts of a front queue that may be touched, the longest ready first.
SELECT id, name, ready_at FROM hosts WHERE band = ? AND ready_at <= ? ORDER BY ready_at LIMIT ?;

-- front_first: The earliest instant at which a host may leave its front queue.
WITH bands (band) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7))
SELECT min((SELECT min(ready_at) FROM hosts WHERE hosts.band = bands.band AND ready_at IS NOT NULL)) FROM bands;

-- host_entered: A host gets a back queue.
UPDATE hosts SET in_back = 1, ready_at = NULL WHERE id = ?;

-- host_leased: A visit to the host is out; the host is not touched again before next_at, whatever happens to us.
UPDATE hosts SET leased = 1, next_at = ?, gap = ?, later_at = ?, band = ? WHERE id = ?;

-- host_waits: Nothing to be had at the host before ready_at; it gives its back queue up.
UPDATE hosts SET in_back = 0, later_at = ?2,
    ready_at = CASE WHEN queued = 0 OR retired_at IS NOT NULL THEN NULL ELSE ?1 END
WHERE id = ?3;

-- host_settled: The visit is over; the host keeps its back queue (?13) if it has more to give and may. The first eleven
-- parameters are those of HostAfter; ?6, why it is retired, is written by another statement.
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

-- host_got_errands: Robots visits for others are to be made at a host, more or fewer.
UPDATE hosts SET errands = errands + ?1, queued = queued + ?1,
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued + ?1 = 0 THEN NULL ELSE next_at END
WHERE id = ?2;

-- host_woken: Something a host waited for has happened.
UPDATE hosts SET
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ?;

-- host_lost: A host has less to visit.
UPDATE hosts SET queued = queued - ? WHERE id = ?;

-- respelt: An address redirects to another spelling of itself, and goes on under that.
UPDATE addresses SET text = ?, hops = hops + 1 WHERE host_id = ? AND id = ?;

-- host_asked: What the robots.txt files of a host ask for as a delay.
UPDATE hosts SET crawl_delay_s = ?1, gap = max(gap, ?2),
    next_at = CASE WHEN left_at IS NULL THEN next_at ELSE max(next_at, left_at + ?2) END
WHERE id = ?3;

-- first_due: The page of a lane that is visited next.
SELECT q.priority, q.sequence, q.id, a.text, a.how, a.depth, a.hops, e.failures, e.reason, e.detail,
    s.changed_at, s.every_s
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
LEFT JOIN said s ON s.host_id = q.host_id AND s.id = q.id
WHERE q.host_id = ? AND q.lane = ? AND q.later_at = 0
ORDER BY q.priority, q.sequence LIMIT 1;

-- past_of: What is remembered of a page that comes again.
SELECT past FROM revisits WHERE host_id = ? AND id = ?;

-- past_kept: What is to be remembered of it from now on.
INSERT OR REPLACE INTO revisits (host_id, id, past) VALUES (?, ?, ?);

-- said: What a sitemap or feed says of the changes of an address.
INSERT OR REPLACE INTO said (host_id, id, changed_at, every_s) VALUES (?, ?, ?, ?);

-- best_due: The priority of the page of a lane that is visited next.
SELECT priority FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0 ORDER BY priority LIMIT 1;

-- became_due: Pages whose time has come.
UPDATE queue SET later_at = 0 WHERE host_id = ? AND lane = ? AND later_at > 0 AND later_at <= ?;

-- first_later: When the next page of a lane will be due.
SELECT min(later_at) FROM queue WHERE host_id = ? AND lane = ? AND later_at > 0;

-- unqueued: A visited page waits no longer.
DELETE FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- queued_later: A visited page waits for its next time, at this place.
UPDATE queue SET later_at = ?, priority = ?, sequence = ?
WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- ended: How the visit to an address ended.
INSERT OR REPLACE INTO ends (host_id, id, reason, failures, settled_at, due_at, detail) VALUES (?, ?, ?, ?, ?, ?, ?);

-- failure_kept: How a visit ended stays known when the next one has ended.
INSERT OR IGNORE INTO failures (host_id, id, at, reason, detail)
SELECT host_id, id, settled_at, reason, substr(detail, 1, 200) FROM ends WHERE host_id = ? AND id = ?;

-- failures_thinned: All but the newest go.
DELETE FROM failures WHERE host_id = ?1 AND id = ?2 AND at < (
    SELECT at FROM failures WHERE host_id = ?1 AND id = ?2 ORDER BY at DESC LIMIT 1 OFFSET ?3);

-- lane_failures_kept: The same for the pages that wait in a lane; the codes of failures come as a JSON array.
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

-- lane_emptied: And wait no longer.
DELETE FROM queue WHERE host_id = ? AND lane = ?;

-- robots_kept: What it says now.
INSERT OR REPLACE INTO robots (host_id, lane, expires_at, entry) VALUES (?, ?, ?, ?);

-- errand_added: A robots.txt has moved to a host; it is to be asked for there.
INSERT OR IGNORE INTO errands (host_id, for_host_id, for_lane, url) VALUES (?, ?, ?, ?);

-- errand_first: A moved robots.txt to be asked for at a host.
SELECT for_host_id, for_lane, url FROM errands WHERE host_id = ? LIMIT 1;

-- errand_done: It has been asked for.
DELETE FROM errands WHERE host_id = ? AND for_host_id = ? AND for_lane = ?;

-- meta: A small fact.
SELECT number FROM meta WHERE name = ?;

-- meta_set: A small fact changes.
INSERT OR REPLACE INTO meta (name, number) VALUES (?, ?);

-- hosts_rested: After an unclean stop, hosts that were leased or still in their gap wait a full gap from now.
UPDATE hosts SET next_at = max(next_at, ?1 + max(gap, ?2)), ready_at = max(ready_at, next_at, ?1 + max(gap, ?2))
WHERE leased OR next_at > ?1;

-- hosts_shifted: The clock was set: promises keep their distance from now.
UPDATE hosts SET next_at = max(0, next_at + ?1), ready_at = max(0, ready_at + ?1), left_at = left_at + ?1,
    later_at = max(1, later_at + ?1), failing_since = failing_since + ?1;

-- queue_shifted: And so does what is to be visited again.
UPDATE queue SET later_at = max(1, later_at + ?1)
WHERE later_at > 0 AND host_id IN (SELECT id FROM hosts WHERE later_at IS NOT NULL);

-- hosts_returned: No visit is out and there are no back queues; what was out is still in the queue.
UPDATE hosts SET leased = 0, in_back = 0,
    ready_at = CASE WHEN queued > 0 AND retired_at IS NULL THEN max(next_at, coalesce(ready_at, 0)) END
WHERE leased OR in_back;

-- backs_dissolved: What memory knew of back queues is lost; their hosts return to the front.
UPDATE hosts SET in_back = 0,
    ready_at = CASE WHEN queued > 0 AND retired_at IS NULL THEN next_at END
WHERE in_back AND NOT leased;

-- lease_returned: One visit will not be settled; its host may have been touched just now.
UPDATE hosts SET next_at = max(next_at, ?1 + max(gap, ?2)) WHERE id = ?3;

-- leased_none: The counter of leases starts again.
UPDATE tallies SET number = 0 WHERE name = 'leased';

-- retired: A host is visited no more.
UPDATE hosts SET retired_at = ?, retired_why = ?, ready_at = NULL, in_back = 0 WHERE id = ? AND retired_at IS NULL;

-- reinstated: It is visited again.
UPDATE hosts SET retired_at = NULL, retired_why = NULL, troubles = 0, failing = 0, failing_since = NULL,
    ready_at = CASE WHEN leased OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ? AND retired_at IS NOT NULL;

-- is_known: Whether an address was met before.
SELECT 1 FROM addresses WHERE host_id = ? AND id = ?;

-- quarantined: Every template in quarantine.
SELECT host_id, name, template FROM templates JOIN hosts ON hosts.id = host_id WHERE quarantined_at IS NOT NULL;

-- learned: A visit was read: what its template has brought so far.
INSERT INTO templates (host_id, id, template, fetched, fruitful) VALUES (?1, ?2, ?3, 1, ?4)
ON CONFLICT (host_id, id) DO UPDATE SET fetched = fetched + 1, fruitful = fruitful + ?4
RETURNING fetched, fruitful, quarantined_at;

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

-- host_resumed: A host has something to do again.
UPDATE hosts SET lanes = lanes | ?1,
    later_at = (SELECT min(later_at) FROM queue WHERE host_id = ?2 AND lane < 2 AND later_at > 0),
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ?2;
