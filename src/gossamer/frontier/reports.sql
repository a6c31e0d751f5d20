-- queued: Every queued URL, host by host.
SELECT q.lane, h.name, a.text, a.depth
FROM queue q JOIN hosts h ON h.id = q.host_id JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.lane < 2;

-- held: Every URL in quarantine, or those of one host.
SELECT q.lane, h.name, a.text
FROM hosts h JOIN queue q ON q.host_id = h.id AND q.lane >= 2 JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE h.held > 0 AND (?1 IS NULL OR h.name = ?1);

-- ledger: The gaps that hosts were promised, and those that were kept.
SELECT name, visits, gap, least_gap, rested, rests, broken FROM hosts WHERE visits > 0 ORDER BY name;

-- host_ledger: The same for one host.
SELECT name, visits, gap, least_gap, rested, rests, broken FROM hosts WHERE visits > 0 AND name = ?;

-- hosts: The state of every host.
SELECT name, queued, held, errands, leased, in_back, band, next_at, ready_at, later_at, gap, crawl_delay_s, troubles,
    failing, failing_since, retired_at, retired_why, visits, spent, linked_from
FROM hosts ORDER BY name;

-- host: The state of one host.
SELECT name, queued, held, errands, leased, in_back, band, next_at, ready_at, later_at, gap, crawl_delay_s, troubles,
    failing, failing_since, retired_at, retired_why, visits, spent, linked_from
FROM hosts WHERE name = ?;

-- templates: What is known about URL templates, of one host or all.
SELECT h.name, t.template, t.fetched, t.fruitful, t.held, t.quarantined_at
FROM templates t JOIN hosts h ON h.id = t.host_id WHERE ?1 IS NULL OR h.name = ?1 ORDER BY h.name, t.template;

-- before: How many due URLs of a lane go before the one with this priority and text.
SELECT count(*) FROM queue q
WHERE q.host_id = (SELECT id FROM hosts WHERE name = ?1) AND q.lane = ?2 AND q.later_at = 0
    AND (q.priority, q.sequence) < (?3, (
        SELECT min(w.sequence) FROM queue w JOIN addresses a ON a.host_id = w.host_id AND a.id = w.id
        WHERE w.host_id = (SELECT id FROM hosts WHERE name = ?1) AND w.lane = ?2 AND a.text = ?4));

-- every_end: Each visited URL, and how its last visit ended.
SELECT lane, name, text, reason
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id;

-- in_front: The first host of each front queue.
WITH bands (band) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7))
SELECT (SELECT id FROM hosts WHERE hosts.band = bands.band AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1) FROM bands;

-- first_of: Of these hosts (a JSON array of ids) the one that is ready first.
SELECT id, name, lanes, troubles, max(next_at, coalesce(ready_at, 0)) AS at FROM hosts
WHERE id IN (SELECT value FROM json_each(?)) AND queued > 0 AND NOT leased ORDER BY at LIMIT 1;

-- first_of on PostgreSQL: It has no JSON function of that name, nor max of two values.
SELECT id, name, lanes, troubles, greatest(next_at, coalesce(ready_at, 0)) AS at FROM hosts
WHERE id IN (SELECT value::bigint FROM jsonb_array_elements_text(?::jsonb)) AND queued > 0 AND NOT leased
ORDER BY at LIMIT 1;

-- first_in_lane: The next page in a lane of a host, due or not, and how its last visit ended.
SELECT q.later_at, a.text, e.reason, coalesce(e.failures, 0), coalesce(e.detail, '')
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
LEFT JOIN ends e ON e.host_id = q.host_id AND e.id = q.id
WHERE q.host_id = ? AND q.lane = ? ORDER BY q.later_at, q.priority, q.sequence LIMIT 1;

-- newest: Last visits with one reason before a position, newest first. The index has this order, so reading can stop
-- anywhere.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM ends e CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id CROSS JOIN hosts h ON h.id = e.host_id
WHERE e.reason = :reason AND e.settled_at BETWEEN :since_at AND :until_at
    AND (e.settled_at, e.host_id, e.id) < (:at, :host_id, :id)
ORDER BY e.settled_at DESC, e.host_id DESC, e.id DESC;

-- oldest: The same after a position, oldest first.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM ends e CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id CROSS JOIN hosts h ON h.id = e.host_id
WHERE e.reason = :reason AND e.settled_at BETWEEN :since_at AND :until_at
    AND (e.settled_at, e.host_id, e.id) > (:at, :host_id, :id)
ORDER BY e.settled_at, e.host_id, e.id;

-- of_host: Last visits at one host, unordered, up to a limit.
SELECT e.settled_at, e.host_id, e.id, a.lane, h.name, a.text, a.how, a.depth, e.reason, e.detail, e.failures, e.due_at
FROM hosts h CROSS JOIN ends e ON e.host_id = h.id CROSS JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id
WHERE h.name = :name AND e.settled_at BETWEEN :since_at AND :until_at
LIMIT :most;

-- next_ends: The next visited URLs in the order of their keys, and how their last visits ended.
SELECT e.host_id, e.id, lane, name, text, how, depth, hops, reason, detail, failures, settled_at, due_at
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id
WHERE (e.host_id, e.id) > (?, ?)
ORDER BY e.host_id, e.id LIMIT ?;

-- some: Hosts whose name contains a text and that are in a state, in some order, from a position on. The states
-- depend on whether the crawl is running.
WITH listed AS (
    SELECT id, name, least_gap, broken,
        CASE
            WHEN retired_at IS NOT NULL THEN 'retired'
            WHEN leased AND :is_crawling = 1 THEN 'in-progress'
            WHEN queued = 0 THEN 'done'
            WHEN next_at > :now AND troubles > 0 THEN 'backing-off'
            WHEN next_at > :now THEN 'waiting'
            WHEN band = :last_band THEN 'over-budget'
            WHEN ready_at > :now THEN 'waiting'
            ELSE 'ready'
        END AS state,
        CASE :sort
            WHEN 'queued' THEN -queued WHEN 'visits' THEN -visits WHEN 'troubles' THEN -troubles
            WHEN 'gap' THEN -gap WHEN 'held' THEN -held WHEN 'next' THEN next_at ELSE 0
        END AS rank
    FROM hosts WHERE :text = '' OR instr(name, :text) > 0
)
SELECT rank, name, id, least_gap, broken, state FROM listed
WHERE (:state = '' OR state = :state) AND (rank, name) > (:rank, :after)
ORDER BY rank, name LIMIT :most;

-- states: How many hosts are in each state.
SELECT
    CASE
        WHEN retired_at IS NOT NULL THEN 'retired'
        WHEN leased AND :is_crawling = 1 THEN 'in-progress'
        WHEN queued = 0 THEN 'done'
        WHEN next_at > :now AND troubles > 0 THEN 'backing-off'
        WHEN next_at > :now THEN 'waiting'
        WHEN band = :last_band THEN 'over-budget'
        WHEN ready_at > :now THEN 'waiting'
        ELSE 'ready'
    END AS state, count(*)
FROM hosts GROUP BY 1;

-- robots: The stored robots.txt entries of a host.
SELECT entry FROM robots WHERE host_id = ? ORDER BY lane;

-- remembered: Pages that are revisited, what is remembered about each, and when it is due; of one host, or of all
-- (NULL).
SELECT h.name, a.lane, a.text, e.due_at, r.past
FROM hosts h CROSS JOIN revisits r ON r.host_id = h.id CROSS JOIN addresses a ON a.host_id = r.host_id AND a.id = r.id
LEFT JOIN ends e ON e.host_id = r.host_id AND e.id = r.id
WHERE :host IS NULL OR h.name = :host;

-- next_known: The next known URLs in the order of their keys, and how the last visit ended, if any.
SELECT a.host_id, a.id, lane, name, text, how, depth, reason
FROM addresses a JOIN hosts h ON h.id = a.host_id LEFT JOIN ends e ON e.host_id = a.host_id AND e.id = a.id
WHERE (a.host_id, a.id) > (?, ?)
ORDER BY a.host_id, a.id LIMIT ?;

-- next_remembered: The next pages that are revisited, in the order of their keys.
SELECT r.host_id, r.id, h.name, a.lane, a.text, e.due_at, r.past
FROM revisits r CROSS JOIN hosts h ON h.id = r.host_id
CROSS JOIN addresses a ON a.host_id = r.host_id AND a.id = r.id
LEFT JOIN ends e ON e.host_id = r.host_id AND e.id = r.id
WHERE (r.host_id, r.id) > (?, ?)
ORDER BY r.host_id, r.id LIMIT ?;
