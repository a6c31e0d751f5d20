-- moment: The time by the clock that all crawlers share.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- tally: Counters of a slot move.
INSERT INTO tally_slots (slot, name, number)
SELECT %(slot)s, * FROM unnest(%(names)s::text[], %(numbers)s::bigint[]) AS moves (name, number) ORDER BY name
ON CONFLICT (slot, name) DO UPDATE SET number = tally_slots.number + excluded.number;

-- worker_entered: A new crawler.
INSERT INTO workers (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING;

-- worker_named: A crawler by its name; locked.
SELECT id, alive_until FROM workers WHERE name = %(name)s FOR UPDATE;

-- worker_joins: It begins another life.
UPDATE workers SET life = life + 1, alive_until = %(until)s WHERE id = %(worker)s RETURNING life;

-- worker_renews: It is still alive.
UPDATE workers SET alive_until = %(until)s
WHERE id = %(worker)s AND life = %(life)s AND alive_until IS NOT NULL;

-- worker_alive: It has not been taken for dead, and cannot be before this transaction ends.
SELECT 1 FROM workers WHERE id = %(worker)s AND life = %(life)s AND alive_until IS NOT NULL FOR SHARE;

-- worker_leaves: It leaves the crawl.
UPDATE workers SET alive_until = NULL WHERE id = %(worker)s AND life = %(life)s;

-- worker_forgotten: It has left, and its name is not used again.
DELETE FROM workers WHERE id = %(worker)s AND life = %(life)s;

-- workers_dead: Crawlers whose membership has run out; those that another crawler is taking over are skipped.
UPDATE workers SET alive_until = NULL WHERE id IN (
    SELECT id FROM workers WHERE alive_until < %(now)s AND id <> %(worker)s FOR UPDATE SKIP LOCKED)
RETURNING id;

-- hosts_of: Hosts that these crawlers have leased, or visited last within a gap; locked in order.
SELECT id, is_leased FROM hosts
WHERE worker_id = ANY(%(workers)s) AND (is_leased OR next_at > %(now)s) ORDER BY id FOR UPDATE;

-- strays: Hosts that a crawler has leased without knowing it: the response to its take was lost.
SELECT id, is_leased FROM hosts
WHERE worker_id = %(worker)s AND is_leased AND id <> ALL(%(known)s::bigint[]) ORDER BY id FOR UPDATE;

-- hosts_rested: These hosts are leased no longer; something may just have been sent to them, and they wait a full gap.
UPDATE hosts SET is_leased = false, visiting = NULL, lease = lease + 1, worker_id = %(worker)s,
    next_at = greatest(next_at, %(now)s + rest),
    ready_at = CASE WHEN (is_leased OR ready_at IS NOT NULL) AND retired_at IS NULL
        THEN greatest(coalesce(ready_at, 0), next_at, %(now)s + rest) END
FROM (
    SELECT h.id, greatest(h.gap, %(floor)s,
        (1000000 * least(coalesce(max(r.crawl_delay_s), 0), %(longest_s)s))::bigint) AS rest
    FROM hosts h LEFT JOIN robots r ON r.host_id = h.id AND r.crawl_delay_s > 0
    WHERE h.id = ANY(%(hosts)s::bigint[]) GROUP BY h.id
) AS rests
WHERE hosts.id = rests.id;

-- hosts_shifted: The shared clock was set: promises keep their distance from now.
UPDATE hosts SET next_at = next_at + %(by)s, ready_at = ready_at + %(by)s, left_at = left_at + %(by)s;

-- queue_shifted: So do pages that wait for a later time,
UPDATE queue SET later_at = greatest(1, later_at + %(by)s) WHERE later_at > 0;

-- networks_shifted: the next starts at IP addresses,
UPDATE networks SET start_at = start_at + %(by)s;

-- workers_shifted: and the memberships of crawlers.
UPDATE workers SET alive_until = alive_until + %(by)s;

-- steps_of_clock: How often the shared clock is known to have been set, and the latest instant a crawler saw on it.
SELECT coalesce(max(number) FILTER (WHERE name = 'clock_steps'), 0),
    coalesce(max(number) FILTER (WHERE name = 'latest_at'), 0) FROM meta;

-- step_of_clock: It was set once more; only the first crawler to notice finds the number it knew.
INSERT INTO meta AS m (name, number) VALUES ('clock_steps', %(known)s + 1)
ON CONFLICT (name) DO UPDATE SET number = excluded.number WHERE m.number = %(known)s;

-- latest_at: The latest instant seen on the shared clock.
INSERT INTO meta AS m (name, number) VALUES ('latest_at', %(now)s)
ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- host_named: A host by its id; locked.
SELECT id, is_leased, retired_at, visiting FROM hosts WHERE id = %(host_id)s FOR UPDATE;

-- host_retired: No visit is leased at this host any more.
UPDATE hosts SET retired_at = %(now)s, retired_why = %(why)s, ready_at = NULL WHERE id = %(host_id)s;

-- host_reinstated: It may be visited again, as if it had never failed.
UPDATE hosts SET retired_at = NULL, retired_why = NULL, troubles = 0, failing = 0, failing_since = NULL,
    ready_at = CASE WHEN NOT is_leased THEN next_at END
WHERE id = %(host_id)s;

-- waiting_at: URLs that wait in two lanes of a host, except the leased one.
SELECT q.id, a.url FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = %(host_id)s AND q.lane = ANY(%(lanes)s::smallint[]) AND q.id IS DISTINCT FROM %(visiting)s
LIMIT %(most)s;

-- first_waiting: The next URLs of a lane.
SELECT q.id, a.url FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = %(host_id)s AND q.lane = %(lane)s AND q.later_at = 0
ORDER BY q.priority, q.sequence LIMIT %(most)s;

-- lanes_changed: URLs move to another pair of lanes of their host.
UPDATE queue SET lane = lane + %(by)s
WHERE host_id = %(host_id)s AND lane = ANY(%(lanes)s::smallint[]) AND id = ANY(%(ids)s::bigint[]);

-- host_holds: A host has more URLs in quarantine, or fewer.
UPDATE hosts SET held = held + %(more)s WHERE id = %(host_id)s;

-- templates_seen: What visits brought for their templates, at most one visit a host.
INSERT INTO templates AS t (host_id, id, template, fetched, fruitful)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(templates)s::text[], %(fetched)s::integer[],
    %(fruitful)s::integer[])
ON CONFLICT (host_id, id) DO UPDATE SET fetched = t.fetched + excluded.fetched, fruitful = t.fruitful + excluded.fruitful
RETURNING host_id, template, fetched, fruitful, quarantined_at;

-- template_quarantined: A template goes into quarantine, unless it is there.
UPDATE templates SET quarantined_at = coalesce(quarantined_at, %(at)s), held = held + %(held)s
WHERE host_id = %(host_id)s AND id = %(id)s;

-- template_released: It comes out, and its counts start again.
UPDATE templates SET quarantined_at = NULL, held = 0, fetched = 0, fruitful = 0
WHERE host_id = %(host_id)s AND id = %(id)s;

-- mailed: Mail for hosts: new URLs have been queued for them.
INSERT INTO mail (host_id, id, linked_from, band, held)
SELECT host_id, nextval('mail_numbers'), linked_from, band, held
FROM unnest(%(hosts)s::bigint[], %(linked)s::bigint[], %(bands)s::smallint[], %(held)s::integer[])
    AS letters (host_id, linked_from, band, held)
WHERE linked_from = 0 OR band IS NOT NULL OR held > 0
    OR EXISTS (SELECT 1 FROM hosts h WHERE h.id = host_id AND h.linked_from | letters.linked_from <> h.linked_from);

-- mail_hosts: Hosts with mail that no other crawler has locked; locked.
SELECT id FROM hosts WHERE id IN (SELECT DISTINCT host_id FROM mail LIMIT %(most)s) FOR UPDATE SKIP LOCKED;

-- mail_delivered: They may be leased as soon as they are polite: also by a robots.txt that was read at another host.
WITH letters AS (
    DELETE FROM mail WHERE host_id = ANY(%(hosts)s::bigint[]) RETURNING host_id, linked_from, band, held
), news AS (
    SELECT host_id, bit_or(linked_from) AS linked_from, min(band) AS band, sum(held) AS held,
        bool_or(band IS NOT NULL OR held = 0 AND linked_from = 0) AS wakes, (
            SELECT greatest(%(floor)s, (1000000 * least(coalesce(max(crawl_delay_s), 0), %(longest_s)s))::bigint)
            FROM robots r WHERE r.host_id = letters.host_id HAVING count(*) > 0) AS rest
    FROM letters GROUP BY host_id
)
UPDATE hosts SET linked_from = hosts.linked_from | news.linked_from, held = hosts.held + news.held,
    band = CASE WHEN is_over THEN hosts.band ELSE least(hosts.band, news.band) END,
    gap = CASE WHEN is_leased THEN gap ELSE greatest(gap, rest) END,
    next_at = CASE WHEN is_leased THEN next_at ELSE greatest(next_at, left_at + rest) END,
    ready_at = CASE WHEN news.wakes AND NOT is_leased AND retired_at IS NULL THEN greatest(next_at, left_at + rest)
        ELSE ready_at END
FROM news WHERE hosts.id = news.host_id;

-- host_names: The names of these host ids.
SELECT id, name FROM hosts WHERE id = ANY(%(ids)s::bigint[]);

-- hosts_added: New hosts; one that another crawler added just now stays as it is.
INSERT INTO hosts (id, name)
SELECT id, name FROM unnest(%(ids)s::bigint[], %(names)s::text[]) AS given (id, name) ORDER BY id
ON CONFLICT (id) DO NOTHING RETURNING id;

-- offer_number: Places in the queue for a batch of offers: the number, times the most a batch can hold.
SELECT nextval('offer_numbers');

-- entered: New URLs become known, in order of their key, so that transactions never deadlock. Returns which they are
-- (0, host, id), which of the others have an id that belongs to another text (1, place, text), and how many were
-- known (2, number).
WITH given AS (
    SELECT * FROM unnest(%(places)s::bigint[], %(host_ids)s::bigint[], %(ids)s::bigint[], %(urls)s::text[],
        %(hows)s::text[], %(source_host_ids)s::bigint[], %(source_ids)s::bigint[], %(depths)s::integer[],
        %(hops)s::smallint[]) AS m (place, host_id, id, url, how, source_host_id, source_id, depth, hops)
), looked AS (
    SELECT given.*, a.url AS known_url FROM given LEFT JOIN LATERAL (
        SELECT url FROM addresses WHERE host_id = given.host_id AND id = given.id LIMIT 1) AS a ON true
), fresh AS (
    INSERT INTO addresses (host_id, id, url, how, source_host_id, source_id, depth, hops)
    SELECT host_id, id, url, how, source_host_id, source_id, depth, hops FROM looked WHERE known_url IS NULL
    ORDER BY host_id, id
    ON CONFLICT (host_id, id) DO NOTHING RETURNING host_id, id
)
SELECT 0, host_id, id, NULL FROM fresh
UNION ALL SELECT 1, place, NULL, known_url FROM looked WHERE known_url <> url
UNION ALL SELECT 2, count(known_url), NULL, NULL FROM looked;

-- forgotten_at: What was forgotten at these hosts, or of them.
SELECT name, is_host FROM forgotten
WHERE CASE WHEN is_host THEN name WHEN name LIKE 'http%%' THEN split_part(name, '/', 3)
    ELSE rtrim(split_part(name, '/', 1), ':') || '|' || split_part(name, '/', 3) END = ANY(%(hosts)s::text[]);

-- taken_out: URLs that were added by mistake.
DELETE FROM addresses USING unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS o (host_id, id)
WHERE addresses.host_id = o.host_id AND addresses.id = o.id;

-- others: Which of these ids belong to another URL.
SELECT given.place, a.url
FROM unnest(%(places)s::bigint[], %(host_ids)s::bigint[], %(ids)s::bigint[], %(urls)s::text[])
    AS given (place, host_id, id, url)
JOIN addresses a ON a.host_id = given.host_id AND a.id = given.id AND a.url <> given.url;

-- queued: URLs wait in their host's lane.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT host_id, lane, later_at, priority, sequence, id
FROM unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(priorities)s::integer[], %(sequences)s::bigint[],
    %(ids)s::bigint[], %(later_ats)s::bigint[]) AS q (host_id, lane, priority, sequence, id, later_at);

-- hosts_still: Those of these hosts that no other crawler has locked, and the leased URL of each; locked.
SELECT id, visiting FROM hosts WHERE id = ANY(%(hosts)s::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED;

-- heads: Which of these URLs wait at the head of their lane, and how each was found.
SELECT h.id, q.lane, q.priority, q.sequence, q.id, a.how, a.depth
FROM unnest(%(hosts)s::bigint[]) AS h (id) CROSS JOIN (VALUES (0::smallint), (1::smallint)) AS l (lane)
CROSS JOIN LATERAL (
    SELECT lane, priority, sequence, id FROM queue WHERE host_id = h.id AND lane = l.lane AND later_at = 0
    ORDER BY priority, sequence LIMIT %(head)s) AS q
JOIN addresses a ON a.host_id = h.id AND a.id = q.id
WHERE q.id = ANY(%(ids)s::bigint[]);

-- raised: They move towards the head of their lane. REQUIRES: their hosts are locked, and they are not leased.
UPDATE queue SET priority = r.better
FROM unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(priorities)s::integer[], %(sequences)s::bigint[],
    %(betters)s::integer[]) AS r (host_id, lane, priority, sequence, better)
WHERE queue.host_id = r.host_id AND queue.lane = r.lane AND later_at = 0 AND queue.priority = r.priority
    AND queue.sequence = r.sequence;

-- hosts_raised: And their hosts to a better front queue, unless they are over their budget.
UPDATE hosts SET band = least(hosts.band, r.band)
FROM unnest(%(host_ids)s::bigint[], %(bands)s::smallint[]) AS r (id, band) WHERE hosts.id = r.id AND NOT is_over;

-- hosts_ready: Hosts that may be visited and may have something due, the longest ready first; locked, without those
-- that another crawler has locked.
SELECT id, name, lease, next_at, failing, failing_since, ready_at FROM hosts
WHERE band = %(band)s AND ready_at <= %(now)s AND id <> ALL(%(without)s::bigint[])
ORDER BY ready_at LIMIT %(most)s FOR UPDATE SKIP LOCKED;

-- bands_ready: The bands with hosts that may have something due.
SELECT b.band FROM generate_series(0, %(last)s) AS b (band)
WHERE EXISTS (SELECT 1 FROM hosts WHERE hosts.band = b.band AND ready_at <= %(now)s) ORDER BY b.band;

-- hosts_looked: The crawl delay of hosts, the longer one of their origins, and a robots.txt to request for another
-- host.
SELECT h.id, (SELECT max(crawl_delay_s) FROM robots r WHERE r.host_id = h.id AND crawl_delay_s > 0),
    e.for_host_id, e.for_lane, e.url
FROM unnest(%(hosts)s::bigint[]) AS h (id)
LEFT JOIN LATERAL (SELECT for_host_id, for_lane, url FROM errands e WHERE e.host_id = h.id LIMIT 1) AS e ON true;

-- lanes_looked: The next page in each lane of hosts, when the one after that is due, and the version of the
-- robots.txt.
SELECT h.id, l.lane, later.later_at, r.version, v.past, q.priority, q.sequence, q.id, a.url, a.how, a.depth, a.hops,
    a.failures, a.reason, a.detail, s.changed_at, s.every_s
FROM unnest(%(hosts)s::bigint[]) AS h (id) CROSS JOIN (VALUES (0::smallint), (1::smallint)) AS l (lane)
LEFT JOIN LATERAL (
    SELECT priority, sequence, id FROM queue
    WHERE host_id = h.id AND lane = l.lane AND later_at = 0 ORDER BY priority, sequence LIMIT 1) AS q ON true
LEFT JOIN LATERAL (
    SELECT later_at FROM queue
    WHERE host_id = h.id AND lane = l.lane AND later_at > 0 ORDER BY later_at LIMIT 1) AS later ON true
LEFT JOIN addresses a ON a.host_id = h.id AND a.id = q.id
LEFT JOIN robots r ON r.host_id = h.id AND r.lane = l.lane
LEFT JOIN revisits v ON v.host_id = h.id AND v.id = q.id
LEFT JOIN said s ON s.host_id = h.id AND s.id = q.id
WHERE q.id IS NOT NULL OR later.later_at IS NOT NULL;

-- became_due: Pages whose time has come.
UPDATE queue SET later_at = 0
WHERE host_id = ANY(%(hosts)s::bigint[]) AND lane = ANY('{0,1}'::smallint[]) AND later_at > 0 AND later_at <= %(now)s;

-- hosts_leased: Visits to these hosts are leased; nothing else is sent to them before next_at, even after a crash.
UPDATE hosts SET is_leased = true, worker_id = %(worker)s, lease = lease + 1, ready_at = NULL,
    visiting = l.visiting, next_at = l.next_at, gap = l.gap, address = l.address
FROM unnest(%(hosts)s::bigint[], %(visiting)s::bigint[], %(next_ats)s::bigint[], %(gaps)s::bigint[],
    %(addresses)s::text[]) AS l (id, visiting, next_at, gap, address)
WHERE hosts.id = l.id;

-- hosts_wait: These hosts have nothing to lease before ready_at.
UPDATE hosts SET ready_at = w.ready_at
FROM unnest(%(hosts)s::bigint[], %(ready_ats)s::bigint[]) AS w (id, ready_at) WHERE hosts.id = w.id;

-- hosts_held: The state of hosts; locked in order.
SELECT id, name, worker_id, lease, is_leased, troubles, failing, failing_since, retired_at IS NOT NULL, visits, left_at,
    spent, linked_from
FROM hosts WHERE id = ANY(%(hosts)s::bigint[]) ORDER BY id FOR UPDATE;

-- unqueued: Visited pages leave the queue.
DELETE FROM queue USING unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(priorities)s::integer[],
    %(sequences)s::bigint[]) AS over (host_id, lane, priority, sequence)
WHERE queue.host_id = over.host_id AND queue.lane = over.lane AND later_at = 0 AND queue.priority = over.priority
    AND queue.sequence = over.sequence;

-- queued_later: Visited pages wait for their next visit, some behind all others of their host.
UPDATE queue SET later_at = again.at, priority = again.next_priority,
    sequence = CASE WHEN again.is_last THEN nextval('offer_numbers') * %(most)s ELSE again.sequence END
FROM unnest(%(host_ids)s::bigint[], %(lanes)s::smallint[], %(priorities)s::integer[], %(sequences)s::bigint[],
    %(due_ats)s::bigint[], %(next_priorities)s::integer[], %(are_last)s::boolean[])
    AS again (host_id, lane, priority, sequence, at, next_priority, is_last)
WHERE queue.host_id = again.host_id AND queue.lane = again.lane AND later_at = 0
    AND queue.priority = again.priority AND queue.sequence = again.sequence;

-- addresses_settled: How visits to URLs ended.
UPDATE addresses SET reason = s.reason, detail = s.detail, failures = s.failures, settled_at = s.settled_at,
    due_at = s.due_at, is_queued = s.due_at IS NOT NULL
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(reasons)s::text[], %(details)s::text[],
    %(failures)s::smallint[], %(settled_ats)s::bigint[], %(due_ats)s::bigint[])
    AS s (host_id, id, reason, detail, failures, settled_at, due_at)
WHERE addresses.host_id = s.host_id AND addresses.id = s.id;

-- pasts_kept: What to remember about pages that are revisited.
INSERT INTO revisits (host_id, id, past)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(pasts)s::bytea[])
ON CONFLICT (host_id, id) DO UPDATE SET past = excluded.past;

-- said: What sitemaps and feeds say about the changes of URLs.
INSERT INTO said (host_id, id, changed_at, every_s)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(changed_ats)s::bigint[], %(every_s)s::bigint[])
ON CONFLICT (host_id, id) DO UPDATE SET changed_at = excluded.changed_at, every_s = excluded.every_s;

-- respelt: URLs redirect to other spellings of themselves, which replace them.
UPDATE addresses SET url = r.url, hops = hops + 1
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(urls)s::text[]) AS r (host_id, id, url)
WHERE addresses.host_id = r.host_id AND addresses.id = r.id;

-- hosts_settled: The visits are over. What is left to visit is searched under the host's lock, so no mail is missed.
UPDATE hosts SET is_leased = false, visiting = NULL, next_at = s.next_at, gap = s.gap, troubles = s.troubles,
    failing = s.failing, failing_since = s.failing_since,
    retired_at = coalesce(hosts.retired_at, CASE WHEN s.retired_why IS NOT NULL THEN %(now)s::bigint END),
    retired_why = CASE WHEN hosts.retired_at IS NULL THEN s.retired_why ELSE hosts.retired_why END,
    visits = hosts.visits + s.is_touched::integer, spent = hosts.spent + s.spent, left_at = s.left_at,
    least_gap = least(hosts.least_gap, s.rested), rested = hosts.rested + coalesce(s.rested, 0),
    broken = hosts.broken + s.is_broken::integer, is_over = s.is_over,
    band = CASE WHEN s.is_over THEN %(last)s
        ELSE coalesce((%(bands)s::smallint[])[coalesce(left_over.best, left_over.next_best) + 1], %(last)s - 1) END,
    ready_at = CASE WHEN hosts.retired_at IS NOT NULL OR s.retired_why IS NOT NULL THEN NULL
        WHEN left_over.best IS NOT NULL OR left_over.has_errand THEN s.next_at
        WHEN left_over.later_at IS NOT NULL THEN greatest(left_over.later_at, s.next_at) END
FROM unnest(%(hosts)s::bigint[], %(next_ats)s::bigint[], %(gaps)s::bigint[], %(troubles)s::integer[],
    %(failing)s::integer[], %(failing_since)s::bigint[], %(retired_why)s::text[], %(are_touched)s::boolean[],
    %(spent)s::bigint[], %(left_at)s::bigint[], %(rested)s::bigint[], %(are_broken)s::boolean[],
    %(are_over)s::boolean[])
    AS s (id, next_at, gap, troubles, failing, failing_since, retired_why, is_touched, spent, left_at, rested,
        is_broken, is_over)
CROSS JOIN LATERAL (
    SELECT least(
            (SELECT priority FROM queue WHERE host_id = s.id AND lane = 0 AND later_at = 0
                ORDER BY priority, sequence LIMIT 1),
            (SELECT priority FROM queue WHERE host_id = s.id AND lane = 1 AND later_at = 0
                ORDER BY priority, sequence LIMIT 1)
        ) AS best,
        next.later_at, next.priority AS next_best,
        EXISTS (SELECT 1 FROM errands WHERE host_id = s.id) AS has_errand
    FROM (VALUES (0)) AS one LEFT JOIN LATERAL (
        SELECT later_at, priority FROM (
            (SELECT later_at, priority FROM queue WHERE host_id = s.id AND lane = 0 AND later_at > 0
                ORDER BY later_at, priority LIMIT 1)
            UNION ALL
            (SELECT later_at, priority FROM queue WHERE host_id = s.id AND lane = 1 AND later_at > 0
                ORDER BY later_at, priority LIMIT 1)
        ) AS both_lanes ORDER BY later_at LIMIT 1
    ) AS next ON true
) AS left_over
WHERE hosts.id = s.id;

-- failures_kept: The results of visits are kept as earlier failures.
INSERT INTO failures (host_id, id, at, reason, detail)
SELECT a.host_id, a.id, a.settled_at, a.reason, left(a.detail, 200)
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS over (host_id, id)
JOIN addresses a ON a.host_id = over.host_id AND a.id = over.id
WHERE a.settled_at IS NOT NULL AND a.reason IS NOT NULL
ON CONFLICT DO NOTHING;

-- failures_thinned: All but the newest are removed.
DELETE FROM failures USING (
    SELECT f.host_id, f.id, f.at, row_number() OVER (PARTITION BY f.host_id, f.id ORDER BY f.at DESC) AS place
    FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS over (host_id, id)
    JOIN failures f ON f.host_id = over.host_id AND f.id = over.id
) AS old
WHERE place > %(most)s AND failures.host_id = old.host_id AND failures.id = old.id AND failures.at = old.at;

-- lane_failures_kept: The same for the pages that wait in a lane.
INSERT INTO failures (host_id, id, at, reason, detail)
SELECT a.host_id, a.id, a.settled_at, a.reason, left(a.detail, 200)
FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = %(host_id)s AND q.lane = %(lane)s AND a.reason = ANY(%(failed)s::text[]) AND a.settled_at IS NOT NULL
ON CONFLICT DO NOTHING;

-- lane_reasons: The last reasons of the pages that wait in a lane.
SELECT reason, count(*) FROM queue q JOIN addresses a ON a.host_id = q.host_id AND a.id = q.id
WHERE q.host_id = %(host_id)s AND q.lane = %(lane)s GROUP BY reason;

-- lane_given_up: The pages that wait in a lane are settled without a visit.
WITH waiting AS (DELETE FROM queue WHERE host_id = %(host_id)s AND lane = %(lane)s RETURNING id)
UPDATE addresses SET reason = %(reason)s, detail = %(detail)s, settled_at = %(now)s, due_at = NULL, is_queued = false
FROM waiting WHERE addresses.host_id = %(host_id)s AND addresses.id = waiting.id;

-- robots_entries: The robots.txt entries of origins.
SELECT r.host_id, r.lane, r.version, r.entry
FROM unnest(%(hosts)s::bigint[], %(lanes)s::smallint[]) AS o (host_id, lane)
JOIN robots r ON r.host_id = o.host_id AND r.lane = o.lane;

-- robots_kept: The robots.txt of an origin.
INSERT INTO robots (host_id, lane, version, crawl_delay_s, entry)
VALUES (%(host_id)s, %(lane)s, nextval('robots_versions'), %(delay_s)s, %(entry)s)
ON CONFLICT (host_id, lane) DO UPDATE
SET version = excluded.version, crawl_delay_s = excluded.crawl_delay_s, entry = excluded.entry;

-- delays: The crawl delay of hosts: the longer one of their origins.
SELECT host_id, max(crawl_delay_s) FROM robots WHERE host_id = ANY(%(hosts)s::bigint[]) AND crawl_delay_s > 0
GROUP BY host_id;

-- errand_added: A robots.txt has moved to a host: it is requested there.
INSERT INTO errands (host_id, for_host_id, for_lane, url) VALUES (%(host_id)s, %(for_host_id)s, %(for_lane)s, %(url)s)
ON CONFLICT (host_id, for_host_id, for_lane) DO NOTHING;

-- errand_done: It was requested.
DELETE FROM errands WHERE host_id = %(host_id)s AND for_host_id = %(for_host_id)s AND for_lane = %(for_lane)s;

-- wakes: The earliest instant at which a host may have something, whether there is mail other than counts of links, and
-- whether any visit is leased.
SELECT (SELECT min(first.ready_at) FROM generate_series(0, %(last)s) AS b (band) CROSS JOIN LATERAL (
        SELECT ready_at FROM hosts WHERE hosts.band = b.band AND ready_at IS NOT NULL ORDER BY ready_at LIMIT 1
    ) AS first), EXISTS (SELECT 1 FROM mail WHERE linked_from = 0 OR band IS NOT NULL OR held > 0),
    EXISTS (SELECT 1 FROM hosts WHERE is_leased);

-- quarantined: Quarantined templates of these hosts.
SELECT host_id, id FROM templates WHERE host_id = ANY(%(hosts)s::bigint[]) AND quarantined_at IS NOT NULL;

-- template_held: More URLs of templates are held, or fewer.
UPDATE templates SET held = held + more.amount
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(amounts)s::bigint[]) AS more (host_id, id, amount)
WHERE templates.host_id = more.host_id AND templates.id = more.id;

-- host_woken: Something a host waited for has happened.
UPDATE hosts SET ready_at = next_at WHERE id = %(host_id)s;

-- pasts_begun: The first record of fetched pages; an existing one stays.
INSERT INTO revisits (host_id, id, past)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(pasts)s::bytea[])
ON CONFLICT (host_id, id) DO NOTHING;

-- robots_forgotten: robots.txt files are requested again.
DELETE FROM robots USING unnest(%(hosts)s::bigint[], %(lanes)s::smallint[]) AS o (host_id, lane)
WHERE robots.host_id = o.host_id AND robots.lane = o.lane;

-- troubles_forgotten: Hosts start again without failures.
UPDATE hosts SET troubles = 0, failing = 0, failing_since = NULL
WHERE id IN (SELECT id FROM hosts WHERE id = ANY(%(hosts)s::bigint[]) ORDER BY id FOR UPDATE);

-- networks_added: IP addresses that are new here.
INSERT INTO networks (address) SELECT address FROM unnest(%(addresses)s::text[]) AS given (address)
WHERE NOT EXISTS (SELECT 1 FROM networks n WHERE n.address = given.address) ORDER BY address
ON CONFLICT (address) DO NOTHING;

-- networks_locked: IP addresses that no other crawler decides about now, and when the next visit to each may start.
SELECT address, start_at FROM networks WHERE address = ANY(%(addresses)s::text[]) FOR UPDATE SKIP LOCKED;

-- networks_leased: How many visits to each are leased.
SELECT address, count(*) FROM hosts WHERE is_leased AND address = ANY(%(addresses)s::text[]) GROUP BY address;

-- network_started: Visits to these IP addresses have begun. REQUIRES: they are locked.
UPDATE networks SET start_at = %(start_at)s WHERE address = ANY(%(addresses)s::text[]);

-- requeued: Visited URLs that wait for nothing wait again, as if they had never failed; now, or until a later time.
UPDATE addresses SET is_queued = true, failures = 0, due_at = coalesce(wanted.later_at, settled_at)
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(later_ats)s::bigint[]) AS wanted (host_id, id, later_at)
WHERE addresses.host_id = wanted.host_id AND addresses.id = wanted.id AND NOT is_queued
RETURNING addresses.host_id, addresses.id;

-- pasts_of: What is remembered about these pages.
SELECT r.host_id, r.id, r.past FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS asked (host_id, id)
JOIN revisits r ON r.host_id = asked.host_id AND r.id = asked.id;

-- pasts_noted: What to remember about them from now on.
UPDATE revisits SET past = n.past
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[], %(pasts)s::bytea[]) AS n (host_id, id, past)
WHERE revisits.host_id = n.host_id AND revisits.id = n.id;

-- moved_sooner: A page that waits for a later time is due earlier, and its row says so. A leased visit is in no such
-- row of the queue. REQUIRES: its host is locked.
WITH page AS (
    SELECT due_at FROM addresses WHERE host_id = %(host_id)s AND id = %(id)s AND is_queued AND due_at > %(due_at)s
), moved AS (
    UPDATE queue SET later_at = %(due_at)s FROM page
    WHERE host_id = %(host_id)s AND lane = %(lane)s::smallint AND later_at = greatest(1, page.due_at) AND id = %(id)s
    RETURNING id
)
UPDATE addresses SET due_at = %(due_at)s FROM moved
WHERE addresses.host_id = %(host_id)s AND addresses.id = moved.id;

-- hosts_sooner: Their hosts have something due by then; a leased one searches its queue when it is settled.
UPDATE hosts SET ready_at = least(greatest(next_at, s.due_at), coalesce(ready_at, greatest(next_at, s.due_at)))
FROM unnest(%(hosts)s::bigint[], %(due_ats)s::bigint[]) AS s (id, due_at)
WHERE hosts.id = s.id AND NOT is_leased AND retired_at IS NULL;

-- plans: How many pages wait for each day at each host.
SELECT h.name, (q.later_at - %(ahead)s) / %(day)s, count(*)
FROM queue q JOIN hosts h ON h.id = q.host_id
WHERE q.lane = ANY('{0,1}'::smallint[]) AND q.later_at > 0
GROUP BY h.name, (q.later_at - %(ahead)s) / %(day)s;
