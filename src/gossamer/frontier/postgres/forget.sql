-- addresses_of: The known URLs of a host, and how their last visits ended.
SELECT id, url, reason FROM addresses WHERE host_id = %(host_id)s;

-- places_of: Where the URLs of a host wait.
SELECT id, lane FROM queue WHERE host_id = %(host_id)s;

-- queue_dropped: URLs are deleted from the queue,
DELETE FROM queue WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- revisits_dropped: from what is remembered about pages,
DELETE FROM revisits WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- said_dropped: from what sitemaps and feeds say,
DELETE FROM said WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- failures_dropped: from the earlier failures,
DELETE FROM failures WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- addresses_dropped: and from the known URLs.
DELETE FROM addresses WHERE host_id = %(host_id)s AND id = ANY(%(ids)s::bigint[]);

-- template_unheld: Fewer URLs of a template are held.
UPDATE templates SET held = greatest(0, held - %(amount)s) WHERE host_id = %(host_id)s AND id = %(id)s;

-- host_unheld: And fewer at the host.
UPDATE hosts SET held = greatest(0, held - %(amount)s) WHERE id = %(host_id)s;

-- captures_of: The URLs of a host that have captures. Other hosts may have the same id.
SELECT DISTINCT url FROM captures WHERE host_id = %(host_id)s;

-- captures_dropped: They are deleted from the catalogue.
DELETE FROM captures WHERE host_id = %(host_id)s AND url = ANY(%(urls)s::text[]) RETURNING url, is_page;

-- withdrawn_dropped: Those that could not be found were not counted as pages.
DELETE FROM withdrawn WHERE host_id = %(host_id)s AND url = ANY(%(urls)s::text[]);

-- robots_of_host: The robots.txt entries of a host are deleted,
DELETE FROM robots WHERE host_id = %(host_id)s;

-- errands_of_host: every robots.txt request from it or to it,
DELETE FROM errands WHERE host_id = %(host_id)s OR for_host_id = %(host_id)s;

-- templates_of_host: its templates,
DELETE FROM templates WHERE host_id = %(host_id)s;

-- mail_of_host: its mail,
DELETE FROM mail WHERE host_id = %(host_id)s;

-- host_dropped: and the host.
DELETE FROM hosts WHERE id = %(host_id)s RETURNING retired_at IS NOT NULL;
