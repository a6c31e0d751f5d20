-- journalled: Offers wait in the journal until they are merged.
INSERT INTO journal (amount, offers) VALUES (?, ?);

-- journal_amount: How many offers wait in the journal.
SELECT coalesce(sum(amount), 0) FROM journal;

-- journal_rows: The waiting offers, oldest first.
SELECT offers FROM journal ORDER BY id;

-- journal_emptied: Offers that are merged or in heaps leave the journal.
DELETE FROM journal;

-- heaped: Offers of one bucket, added to its heap.
INSERT INTO heaps (bucket, amount, offers) VALUES (?, ?, ?);

-- buckets_amount: How many URLs are known, and how many offers wait in heaps.
SELECT coalesce(sum(known), 0), coalesce(sum(waiting), 0) FROM buckets;

-- heap_rows: The heap of a bucket, oldest first.
SELECT id, offers FROM heaps WHERE bucket = ? ORDER BY id;

-- heap_removed: A part of a heap is merged.
DELETE FROM heaps WHERE id = ?;

-- bucket_waiting: More offers wait in a heap, or fewer.
INSERT INTO buckets (id, waiting) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET waiting = waiting + ?2;

-- bucket_known: More URLs are known in a bucket.
INSERT INTO buckets (id, known) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET known = known + ?2;

-- bucket_dense: The bucket whose heap is the largest compared with what is known there, if it is large enough.
SELECT id FROM buckets WHERE waiting > 0 AND waiting * ? >= known ORDER BY 1.0 * waiting / (known + 1) DESC LIMIT 1;

-- bucket_full: The bucket with the largest heap.
SELECT id FROM buckets WHERE waiting > 0 ORDER BY waiting DESC LIMIT 1;

-- incoming_table: The URLs of a merge; in memory, of this connection only.
CREATE TEMP TABLE IF NOT EXISTS incoming (
    host_id INTEGER NOT NULL, id INTEGER NOT NULL, lane INTEGER NOT NULL, text TEXT NOT NULL, how INTEGER NOT NULL,
    source_host_id INTEGER, source_id INTEGER, depth INTEGER NOT NULL, hops INTEGER NOT NULL,
    priority INTEGER NOT NULL, queue_lane INTEGER NOT NULL, place INTEGER NOT NULL
);

-- incoming: One of them, in the order of the table of addresses.
INSERT INTO incoming (host_id, id, lane, text, how, source_host_id, source_id, depth, hops, priority, queue_lane, place)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- incoming_linked: Known URLs among them that were found on another host.
SELECT host_id, id, lane, how, depth, priority FROM incoming
WHERE source_host_id IS NOT NULL AND EXISTS (
    SELECT 1 FROM addresses a WHERE a.host_id = incoming.host_id AND a.id = incoming.id)
LIMIT ?;

-- head_of_lane: The first URLs of a lane.
SELECT priority, sequence, id FROM queue WHERE host_id = ? AND lane = ? AND later_at = 0
ORDER BY priority, sequence LIMIT ?;

-- address_origin: How a URL was found, and how far from its seed.
SELECT how, depth FROM addresses WHERE host_id = ? AND id = ?;

-- raised: It moves towards the head of its lane.
UPDATE queue SET priority = ? WHERE host_id = ? AND lane = ? AND later_at = 0 AND priority = ? AND sequence = ?;

-- host_raised: And its host to a better front queue, unless it is over its budget.
UPDATE hosts SET band = ?1 WHERE id = ?2 AND band > ?1 AND band < 7;

-- known_dropped: Known URLs are removed.
DELETE FROM incoming WHERE EXISTS (
    SELECT 1 FROM addresses a WHERE a.host_id = incoming.host_id AND a.id = incoming.id
    AND a.text = incoming.text AND a.lane = incoming.lane);

-- entered: New URLs become known, except those whose id is taken.
INSERT OR IGNORE INTO addresses (host_id, id, lane, text, how, source_host_id, source_id, depth, hops)
SELECT host_id, id, lane, text, how, source_host_id, source_id, depth, hops FROM incoming;

-- collided: New URLs whose id belongs to another text.
SELECT i.rowid, i.host_id, i.id, i.lane, i.text FROM incoming i
JOIN addresses a ON a.host_id = i.host_id AND a.id = i.id
WHERE a.text <> i.text OR a.lane <> i.lane ORDER BY i.rowid;

-- incoming_renumbered: Such a URL gets another id.
UPDATE incoming SET id = ? WHERE rowid = ?;

-- entered_one: A URL with another id becomes known.
INSERT INTO addresses (host_id, id, lane, text, how, source_host_id, source_id, depth, hops)
SELECT host_id, id, lane, text, how, source_host_id, source_id, depth, hops FROM incoming WHERE rowid = ?;

-- incoming_removed: A URL of the merge that is known under such an id.
DELETE FROM incoming WHERE rowid = ?;

-- incoming_amount: How many URLs of the merge are left.
SELECT count(*) FROM incoming;

-- queued: New URLs wait in their host's lane.
INSERT INTO queue (host_id, lane, later_at, priority, sequence, id)
SELECT host_id, queue_lane, 0, priority, ? + place, id FROM incoming;

-- incoming_by_host: For each host: due URLs, held ones, their lanes, the best priority.
SELECT host_id, sum(queue_lane < 2), sum(queue_lane >= 2), max(queue_lane = 0) + 2 * max(queue_lane = 1),
    min(priority)
FROM incoming GROUP BY host_id;

-- incoming_held: The new URLs that are held.
SELECT host_id, lane, text FROM incoming WHERE queue_lane >= 2;

-- incoming_emptied: The table is emptied for the next merge.
DELETE FROM incoming;

-- address_at: The URL with this id.
SELECT lane, text FROM addresses WHERE host_id = ? AND id = ?;

-- host_got: A host has more URLs to visit, and may be leased as soon as it is polite.
UPDATE hosts SET queued = queued + ?1, held = held + ?2, lanes = lanes | ?3,
    band = CASE WHEN band = 7 THEN 7 WHEN queued = 0 OR band > ?4 THEN ?4 ELSE band END,
    ready_at = CASE WHEN leased OR in_back OR retired_at IS NOT NULL OR queued + ?1 = 0 THEN NULL ELSE next_at END
WHERE id = ?5;

-- host_linked: Other hosts link to a host.
UPDATE hosts SET linked_from = linked_from | ?1 WHERE id = ?2 AND linked_from | ?1 <> linked_from;

-- meta: A number about the database.
SELECT number FROM meta WHERE name = ?;

-- meta_set: The same, changed.
INSERT OR REPLACE INTO meta (name, number) VALUES (?, ?);
