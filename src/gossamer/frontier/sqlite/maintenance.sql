-- addresses_of: What is known at a host.
SELECT id, lane, text FROM addresses WHERE host_id = ?;

-- places_of: Where the addresses of a host wait.
SELECT id, lane FROM queue WHERE host_id = ?;

-- reasons_of: How the last visits at a host ended.
SELECT id, reason FROM ends WHERE host_id = ?;

-- queue_dropped: An address waits no longer.
DELETE FROM queue WHERE host_id = ? AND id = ?;

-- ends_dropped: How it ended is not known any more.
DELETE FROM ends WHERE host_id = ? AND id = ?;

-- revisits_dropped: Nor what it was like.
DELETE FROM revisits WHERE host_id = ? AND id = ?;

-- said_dropped: Nor what sitemaps and feeds said of it.
DELETE FROM said WHERE host_id = ? AND id = ?;

-- failures_dropped: Nor how often it failed.
DELETE FROM failures WHERE host_id = ? AND id = ?;

-- addresses_dropped: Nor that it was ever met.
DELETE FROM addresses WHERE host_id = ? AND id = ?;

-- template_unheld: Fewer addresses of a pattern are held.
UPDATE templates SET held = max(0, held - 1) WHERE host_id = ? AND id = ?;

-- host_has_less: A host has so many fewer to visit, and so many fewer in quarantine.
UPDATE hosts SET queued = max(0, queued - ?1), held = max(0, held - ?2),
    ready_at = CASE WHEN queued - ?1 <= 0 THEN NULL ELSE ready_at END
WHERE id = ?3;

-- bucket_knows_less: And so does its bucket.
UPDATE buckets SET known = max(0, known - ?1) WHERE id = ?2;

-- bucket_waits_less: Fewer offers wait on a heap.
UPDATE buckets SET waiting = max(0, waiting - ?1) WHERE id = ?2;

-- templates_of_host: What the patterns of a host have brought is forgotten.
DELETE FROM templates WHERE host_id = ?;

-- robots_of_host: And what its robots.txt said.
DELETE FROM robots WHERE host_id = ?;

-- errands_for: Visits to a moved robots.txt of a host, made elsewhere.
SELECT host_id FROM errands WHERE for_host_id = ?1 AND host_id <> ?1;

-- errands_of_host: And every errand from or to it.
DELETE FROM errands WHERE host_id = ?1 OR for_host_id = ?1;

-- host_has_no_errand: A host is not asked on behalf of another any more.
UPDATE hosts SET errands = max(0, errands - 1), queued = max(0, queued - 1) WHERE id = ?;

-- was_retired: Whether a host was put aside.
SELECT retired_at IS NOT NULL FROM hosts WHERE id = ?;

-- host_dropped: The host was never met.
DELETE FROM hosts WHERE id = ?;

-- journal_rows: The offers that wait.
SELECT id, amount, offers FROM journal ORDER BY id;

-- journal_kept: Some of them are left.
UPDATE journal SET amount = ?, offers = ? WHERE id = ?;

-- heaps_of: The heap of a bucket.
SELECT id, bucket, amount, offers FROM heaps WHERE bucket = ?;

-- heap_kept: Some of it is left.
UPDATE heaps SET amount = ?, offers = ? WHERE id = ?;

-- waiting_ended: Pages that were visited wait no longer.
DELETE FROM queue WHERE (host_id, id) IN (SELECT host_id, id FROM ends WHERE due_at IS NULL);

-- reasons: How often visits ended in which way.
SELECT reason, count(*) FROM ends GROUP BY reason;

-- hosts_rest: What waits at each host; none is touched before ?1.
UPDATE hosts SET queued = (SELECT count(*) FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2), next_at = ?1,
    ready_at = CASE WHEN EXISTS (SELECT 1 FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2) THEN ?1 END;
