-- addresses_of: What is known at a host, and how the last visits ended.
SELECT id, url, reason FROM addresses WHERE host_id = %(host_id)s;

-- places_of: Where the addresses of a host wait.
SELECT id, lane FROM queue WHERE host_id = %(host_id)s;

-- queue_dropped: Addresses wait no longer.
DELETE FROM queue WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- revisits_dropped: What they were like is not known any more.
DELETE FROM revisits WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- said_dropped: Nor what sitemaps and feeds said of them.
DELETE FROM said WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- failures_dropped: Nor how often they failed.
DELETE FROM failures WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- addresses_dropped: Nor that they were ever met.
DELETE FROM addresses WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- template_unheld: Fewer addresses of a pattern are held.
UPDATE templates SET held = greatest(0, held - %(amount)s) WHERE host_id = %(host_id)s AND id = %(id)s;

-- host_unheld: And fewer at the host.
UPDATE hosts SET held = greatest(0, held - %(amount)s) WHERE id = %(host_id)s;

-- captures_of: The addresses of a host that anything was kept of. Its id is that of the name, whoever else has it.
SELECT DISTINCT url FROM captures WHERE host_id = %(host_id)s;

-- captures_dropped: The catalogue knows nothing of them any more.
DELETE FROM captures WHERE host_id = %(host_id)s AND url = ANY(%(urls)s::text[]) RETURNING url, is_page;

-- withdrawn_dropped: Those that could not be found any more were not counted as pages.
DELETE FROM withdrawn WHERE host_id = %(host_id)s AND url = ANY(%(urls)s::text[]);

-- robots_of_host: What the robots.txt of a host said is forgotten.
DELETE FROM robots WHERE host_id = %(host_id)s;

-- errands_of_host: And every errand from or to it.
DELETE FROM errands WHERE host_id = %(host_id)s OR for_host_id = %(host_id)s;

-- templates_of_host: And what its patterns have brought.
DELETE FROM templates WHERE host_id = %(host_id)s;

-- mail_of_host: And word of what had come for it.
DELETE FROM mail WHERE host_id = %(host_id)s;

-- host_dropped: The host was never met.
DELETE FROM hosts WHERE id = %(host_id)s RETURNING retired_at IS NOT NULL;
