-- addresses_of: The known URLs of a host.
SELECT id, lane, text FROM addresses WHERE host_id = ?;

-- places_of: Where the URLs of a host wait.
SELECT id, lane FROM queue WHERE host_id = ?;

-- reasons_of: How the last visits at a host ended.
SELECT id, reason FROM ends WHERE host_id = ?;

-- queue_dropped: A URL is deleted from the queue,
DELETE FROM queue WHERE host_id = ? AND id = ?;

-- ends_dropped: from the results,
DELETE FROM ends WHERE host_id = ? AND id = ?;

-- revisits_dropped: from what is remembered about pages,
DELETE FROM revisits WHERE host_id = ? AND id = ?;

-- said_dropped: from what sitemaps and feeds say,
DELETE FROM said WHERE host_id = ? AND id = ?;

-- failures_dropped: from the earlier failures,
DELETE FROM failures WHERE host_id = ? AND id = ?;

-- addresses_dropped: and from the known URLs.
DELETE FROM addresses WHERE host_id = ? AND id = ?;

-- template_unheld: Fewer URLs of a template are held.
UPDATE templates SET held = max(0, held - 1) WHERE host_id = ? AND id = ?;

-- host_has_less: A host has so many fewer URLs to visit, and so many fewer in quarantine.
UPDATE hosts SET queued = max(0, queued - ?1), held = max(0, held - ?2),
    ready_at = CASE WHEN queued - ?1 <= 0 THEN NULL ELSE ready_at END
WHERE id = ?3;

-- bucket_knows_less: And so does its bucket.
UPDATE buckets SET known = max(0, known - ?1) WHERE id = ?2;

-- bucket_waits_less: Fewer offers wait in a heap.
UPDATE buckets SET waiting = max(0, waiting - ?1) WHERE id = ?2;

-- templates_of_host: The templates of a host are deleted,
DELETE FROM templates WHERE host_id = ?;

-- robots_of_host: and its robots.txt,
DELETE FROM robots WHERE host_id = ?;

-- errands_for: Requests for a moved robots.txt of a host, made elsewhere.
SELECT host_id FROM errands WHERE for_host_id = ?1 AND host_id <> ?1;

-- errands_of_host: and every robots.txt request from it or to it.
DELETE FROM errands WHERE host_id = ?1 OR for_host_id = ?1;

-- host_has_no_errand: A host has one such request less to make.
UPDATE hosts SET errands = max(0, errands - 1), queued = max(0, queued - 1) WHERE id = ?;

-- was_retired: Whether a host was retired.
SELECT retired_at IS NOT NULL FROM hosts WHERE id = ?;

-- host_dropped: The host is deleted.
DELETE FROM hosts WHERE id = ?;

-- journal_rows: The waiting offers.
SELECT id, amount, offers FROM journal ORDER BY id;

-- journal_kept: Some of them remain.
UPDATE journal SET amount = ?, offers = ? WHERE id = ?;

-- heaps_of: The heap of a bucket.
SELECT id, bucket, amount, offers FROM heaps WHERE bucket = ?;

-- heap_kept: Some of it remains.
UPDATE heaps SET amount = ?, offers = ? WHERE id = ?;

-- waiting_ended: Visited pages leave the queue.
DELETE FROM queue WHERE (host_id, id) IN (SELECT host_id, id FROM ends WHERE due_at IS NULL);

-- reasons: How often visits ended in which way.
SELECT reason, count(*) FROM ends GROUP BY reason;

-- hosts_rest: What waits at each host; nothing is sent to any before ?1.
UPDATE hosts SET queued = (SELECT count(*) FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2), next_at = ?1,
    ready_at = CASE WHEN EXISTS (SELECT 1 FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2) THEN ?1 END;

-- host: A host with what is remembered of it.
INSERT INTO hosts (name, band, next_at, gap, troubles, failing, failing_since, retired_at, retired_why, visits, left_at,
    least_gap, rested, broken, spent, linked_from, rests)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- host_ids: Every host.
SELECT name, id FROM hosts;

-- address: A known URL.
INSERT INTO addresses (host_id, id, lane, text, how, source_host_id, source_id, depth, hops)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- ended: Its last result.
INSERT INTO ends (host_id, id, reason, failures, settled_at, due_at, detail) VALUES (?, ?, ?, ?, ?, ?, ?);

-- past: What is remembered about it.
INSERT INTO revisits (host_id, id, past) VALUES (?, ?, ?);

-- said: What sitemaps and feeds say about it.
INSERT INTO said (host_id, id, changed_at, every_s) VALUES (?, ?, ?, ?);

-- waits: It waits.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id) VALUES (?, ?, ?, ?, ?, ?);

-- failure: An earlier failure.
INSERT INTO failures (host_id, id, at, reason, detail) VALUES (?, ?, ?, ?, ?);

-- template: What the URLs of a template have brought.
INSERT INTO templates (host_id, id, template, fetched, fruitful, held, quarantined_at) VALUES (?, ?, ?, ?, ?, ?, ?);

-- robots: The robots.txt of an origin.
INSERT INTO robots (host_id, lane, expires_at, entry) VALUES (?, ?, ?, ?);

-- hosts_counted: What waits at each host; nothing is sent to any before ?1.
UPDATE hosts SET next_at = max(next_at, ?1),
    lanes = coalesce((SELECT sum(DISTINCT 1 << lane) FROM addresses a WHERE a.host_id = hosts.id), 0),
    queued = (SELECT count(*) FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2),
    held = (SELECT count(*) FROM queue q WHERE q.host_id = hosts.id AND q.lane >= 2),
    later_at = (SELECT min(later_at) FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2 AND q.later_at > 0),
    ready_at = CASE WHEN retired_at IS NULL AND EXISTS (SELECT 1 FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2)
        THEN max(next_at, ?1) END;

-- delay: The longest crawl delay of its origins.
UPDATE hosts SET crawl_delay_s = max(coalesce(crawl_delay_s, 0), ?) WHERE id = ?;

-- buckets: How many URLs are known in each range of hosts.
INSERT INTO buckets (id, known) SELECT host_id >> ?, count(*) FROM addresses GROUP BY 1;

-- sequence: The next place in the queue.
INSERT INTO meta (name, number) SELECT 'sequence', coalesce(max(sequence), 0) + 1 FROM queue WHERE TRUE
ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- counted: What the counters say.
SELECT (SELECT count(*) FROM addresses), (SELECT count(*) FROM queue WHERE lane < 2),
    (SELECT count(*) FROM queue WHERE lane >= 2), (SELECT count(*) FROM hosts),
    (SELECT count(*) FROM hosts WHERE retired_at IS NOT NULL);
