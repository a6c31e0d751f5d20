-- journalled: Offers wait in the journal until they are merged.
INSERT INTO journal (amount, offers) VALUES (?, ?);

-- journal_amount: How many offers wait.
SELECT coalesce(sum(amount), 0) FROM journal;

-- journal_rows: The offers that wait, in the order they came.
SELECT id, offers FROM journal ORDER BY id;

-- journal_emptied: What is merged waits no longer.
DELETE FROM journal;

-- incoming_table: Where a merge lays out its addresses; in memory, of this connection only.
CREATE TEMP TABLE IF NOT EXISTS incoming (
    host_id INTEGER NOT NULL, id INTEGER NOT NULL, lane INTEGER NOT NULL, sequence INTEGER NOT NULL,
    url TEXT NOT NULL, how TEXT NOT NULL, source_id INTEGER, depth INTEGER NOT NULL, hops INTEGER NOT NULL
);

-- incoming: An address laid out, in the order of the table of addresses.
INSERT INTO incoming (host_id, id, lane, sequence, url, how, source_id, depth, hops) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- known_dropped: What is known is not new.
DELETE FROM incoming WHERE EXISTS (
    SELECT 1 FROM addresses a WHERE a.host_id = incoming.host_id AND a.id = incoming.id AND a.url = incoming.url);

-- entered: New addresses become known; one whose id is taken stays behind.
INSERT OR IGNORE INTO addresses (host_id, id, url, how, source_id, depth, hops)
SELECT host_id, id, url, how, source_id, depth, hops FROM incoming;

-- collided: New addresses whose id belongs to another address.
SELECT i.rowid, i.host_id, i.id, i.url FROM incoming i
JOIN addresses a ON a.host_id = i.host_id AND a.id = i.id WHERE a.url <> i.url ORDER BY i.rowid;

-- incoming_renumbered: One of them with the id it takes instead.
UPDATE incoming SET id = ? WHERE rowid = ?;

-- entered_one: One of them becomes known.
INSERT INTO addresses (host_id, id, url, how, source_id, depth, hops)
SELECT host_id, id, url, how, source_id, depth, hops FROM incoming WHERE rowid = ?;

-- incoming_removed: One of them that turned out to be known under such an id.
DELETE FROM incoming WHERE rowid = ?;

-- incoming_amount: How many are laid out.
SELECT count(*) FROM incoming;

-- queued: New addresses wait in their host's lane, the shallow before the deep.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT host_id, lane, 0, depth, sequence, id FROM incoming;

-- incoming_by_host: How many new addresses each host got, and in which lanes.
SELECT host_id, count(*), max(lane = 0) + 2 * max(lane = 1) FROM incoming GROUP BY host_id;

-- incoming_emptied: The table for the next merge.
DELETE FROM incoming;

-- address_at: Who has this id.
SELECT url FROM addresses WHERE host_id = ? AND id = ?;

-- address_known: What is stored of an address.
SELECT url, how, source_id, depth, hops, failures, reason, detail, settled_at, due_at, is_queued
FROM addresses WHERE host_id = ? AND id = ?;

-- host_name: Who has this host id.
SELECT name FROM hosts WHERE id = ?;

-- host_met: A host met for the first time.
INSERT INTO hosts (id, name) VALUES (?, ?);

-- host_got: A host has more to visit, and may be looked at as soon as it may be touched.
UPDATE hosts SET queued = queued + ?, lanes = lanes | ?, ready_at = CASE WHEN leased THEN NULL ELSE next_at END
WHERE id = ?;

-- host_lost: A host has less to visit.
UPDATE hosts SET queued = queued - ? WHERE id = ?;

-- host_errands: Robots visits for others are to be made at a host, more or fewer.
UPDATE hosts SET errands = errands + ?1, queued = queued + ?1,
    ready_at = CASE WHEN leased OR queued + ?1 = 0 THEN NULL ELSE next_at END
WHERE id = ?2;

-- host_woken: Something a host waited for has happened.
UPDATE hosts SET ready_at = CASE WHEN leased OR queued = 0 THEN NULL ELSE next_at END WHERE id = ?;

-- hosts_ready: Hosts that may be touched and may have something due, the longest ready first.
SELECT id, name, lanes, errands, later_at, crawl_delay_s, troubles
FROM hosts WHERE ready_at <= ? ORDER BY ready_at LIMIT ?;

-- host_leased: A visit to the host is out; the host is not touched again before next_at, whatever happens to us.
UPDATE hosts SET leased = 1, ready_at = NULL, next_at = ?, gap = ?, later_at = ? WHERE id = ?;

-- host_waits: Nothing to be had at the host before ready_at.
UPDATE hosts SET ready_at = CASE WHEN queued = 0 THEN NULL ELSE ? END, later_at = ? WHERE id = ?;

-- host_settled: The visit is over.
UPDATE hosts SET leased = 0, next_at = ?1, gap = ?2, troubles = ?3, queued = queued - ?4,
    later_at = CASE WHEN ?5 IS NULL THEN later_at ELSE min(?5, coalesce(later_at, ?5)) END,
    ready_at = CASE WHEN queued - ?4 > 0 THEN ?1 END
WHERE id = ?6;

-- host_asked: What the robots.txt files of a host ask for as a delay.
UPDATE hosts SET crawl_delay_s = ?, gap = max(gap, ?) WHERE id = ?;

-- host_ready_first: The earliest instant at which a host may have something.
SELECT min(ready_at) FROM hosts WHERE ready_at IS NOT NULL;

-- first_due: The page of a lane that is visited next.
SELECT q.priority, q.sequence, q.id, a.url, a.depth, a.hops, a.failures, a.reason
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane = ? AND q.later_at = 0
ORDER BY q.priority, q.sequence LIMIT 1;

-- became_due: Pages whose time has come.
UPDATE queue SET later_at = 0 WHERE host_id = ? AND lane = ? AND later_at > 0 AND later_at <= ?;

-- first_later: When the next page of a lane will be due.
SELECT min(later_at) FROM queue WHERE host_id = ? AND lane = ? AND later_at > 0;

-- unqueued: A visited page waits no longer.
DELETE FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- queued_later: A visited page waits for its next time.
UPDATE queue SET later_at = ? WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- address_settled: How the visit to an address ended.
UPDATE addresses SET reason = ?, detail = ?, failures = ?, settled_at = ?, due_at = ?, is_queued = ?
WHERE host_id = ? AND id = ?;

-- lane_reasons: The last reasons of the pages that wait in a lane.
SELECT reason, count(*) FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = ? AND q.lane = ? GROUP BY reason;

-- lane_given_up: The pages that wait in a lane are settled without a visit.
UPDATE addresses SET reason = ?, detail = ?, settled_at = ?, due_at = NULL, is_queued = 0
WHERE host_id = ?4 AND id IN (SELECT id FROM queue WHERE host_id = ?4 AND lane = ?5);

-- lane_emptied: And wait no longer.
DELETE FROM queue WHERE host_id = ? AND lane = ?;

-- robots_entry: What an origin's robots.txt said.
SELECT entry FROM robots WHERE host_id = ? AND lane = ?;

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
UPDATE hosts SET next_at = max(next_at, ?1 + max(gap, ?2)) WHERE leased OR next_at > ?1;

-- hosts_shifted: The clock was set back while we were away: promises keep their distance from now.
UPDATE hosts SET next_at = next_at - ?1, ready_at = ready_at - ?1;

-- leases_returned: No visit is out; what was out is still in the queue.
UPDATE hosts SET leased = 0, ready_at = CASE WHEN queued > 0 THEN next_at END WHERE leased OR queued > 0;

-- lease_returned: One visit will not be settled; its host may have been touched just now.
UPDATE hosts SET leased = 0, next_at = max(next_at, ?1 + max(gap, ?2)),
    ready_at = CASE WHEN queued > 0 THEN max(next_at, ?1 + max(gap, ?2)) END
WHERE id = ?3;

-- leased_none: The counter of leases starts again.
UPDATE tallies SET number = 0 WHERE name = 'leased';
