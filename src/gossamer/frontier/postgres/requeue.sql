-- ended_after: Visited addresses of a selection after a key.
SELECT host_id, id, url, depth, how, reason, settled_at, is_queued, due_at FROM addresses
WHERE reason IS NOT NULL AND (host_id, id) > (%(after_host)s, %(after_id)s)
    AND (%(reasons)s::text[] IS NULL OR reason = ANY(%(reasons)s::text[]))
    AND (%(hows)s::text[] IS NULL OR how = ANY(%(hows)s::text[]))
    AND (%(host_id)s::bigint IS NULL OR host_id = %(host_id)s)
ORDER BY host_id, id LIMIT %(most)s;

-- ended_named: Some of them by key.
SELECT a.host_id, a.id, a.url, depth, how, reason, settled_at, is_queued, due_at
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS named (host_id, id)
JOIN addresses a ON a.host_id = named.host_id AND a.id = named.id
WHERE reason IS NOT NULL AND (%(reasons)s::text[] IS NULL OR reason = ANY(%(reasons)s::text[]));

-- requeued: Those of them that wait for nothing wait again, as if they had never failed.
UPDATE addresses SET is_queued = true, failures = 0, due_at = NULL
FROM unnest(%(host_ids)s::bigint[], %(ids)s::bigint[]) AS wanted (host_id, id)
WHERE addresses.host_id = wanted.host_id AND addresses.id = wanted.id AND NOT is_queued
RETURNING addresses.host_id, addresses.id, url, depth, how, reason, settled_at;

-- counted: How the addresses of a selection ended.
SELECT reason, count(*) FROM addresses
WHERE reason IS NOT NULL AND (%(reasons)s::text[] IS NULL OR reason = ANY(%(reasons)s::text[]))
    AND (%(host_id)s::bigint IS NULL OR host_id = %(host_id)s)
GROUP BY reason ORDER BY count(*) DESC, reason;

-- examples: A few of those that ended in one way.
SELECT url FROM addresses WHERE reason = %(reason)s AND (%(host_id)s::bigint IS NULL OR host_id = %(host_id)s) LIMIT %(most)s;

-- details: What was stored with them.
SELECT detail, count(*) FROM addresses
WHERE reason = %(reason)s AND detail IS NOT NULL AND (%(host_id)s::bigint IS NULL OR host_id = %(host_id)s)
GROUP BY detail ORDER BY count(*) DESC, detail LIMIT %(most)s;

-- failures_of: Failed visits to an address before the last one, the newest first.
SELECT at, reason, detail FROM failures WHERE host_id = %(host_id)s AND id = %(id)s ORDER BY at DESC;
