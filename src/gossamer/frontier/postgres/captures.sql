-- volume: A volume's number; names are stored once. Each directory has volumes of its own.
SELECT id FROM volumes WHERE name = %(volume)s AND owner = coalesce(current_setting('gossamer.owner', true), '');

-- volume_added: A new volume.
INSERT INTO volumes (name) VALUES (%(volume)s) ON CONFLICT (owner, name) DO NOTHING RETURNING id;

-- insert: Captures are added; one that is already there stays as it is.
INSERT INTO captures (host_id, url_id, fetched_at, capture_id, url, volume_id, number, "offset", length, status,
    media_type, digest, size, is_page, refers_at, charset, charset_from, is_unread)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(url_ids)s::bigint[], %(fetched_ats)s::bigint[],
    %(capture_ids)s::bigint[], %(urls)s::text[], %(volume_ids)s::bigint[], %(numbers)s::bigint[],
    %(offsets)s::bigint[], %(lengths)s::bigint[], %(statuses)s::integer[], %(media_types)s::text[],
    %(digests)s::bytea[], %(sizes)s::bigint[], %(are_pages)s::boolean[], %(refers_ats)s::bigint[],
    %(charsets)s::text[], %(charsets_from)s::text[], %(are_unread)s::boolean[])
ON CONFLICT (host_id, url_id, fetched_at) DO NOTHING;

-- held: How many of these URLs have a page in the catalogue.
SELECT count(*) FROM unnest(%(host_ids)s::bigint[], %(url_ids)s::bigint[], %(urls)s::text[]) AS u (host_id, url_id, url)
WHERE EXISTS (SELECT 1 FROM captures c WHERE c.host_id = u.host_id AND c.url_id = u.url_id AND c.url = u.url AND is_page);

-- restored: Pages can be found again.
DELETE FROM withdrawn w USING unnest(%(host_ids)s::bigint[], %(url_ids)s::bigint[], %(urls)s::text[], %(ats)s::bigint[])
    AS u (host_id, url_id, url, at)
WHERE w.host_id = u.host_id AND w.url_id = u.url_id AND w.url = u.url AND w.at < u.at;

-- withdrawn: Pages that can no longer be found, unless a later capture says otherwise.
INSERT INTO withdrawn (host_id, url_id, url, at)
SELECT * FROM unnest(%(host_ids)s::bigint[], %(url_ids)s::bigint[], %(urls)s::text[], %(ats)s::bigint[])
    AS u (host_id, url_id, url, at)
WHERE EXISTS (
    SELECT 1 FROM captures c WHERE c.host_id = u.host_id AND c.url_id = u.url_id AND c.url = u.url AND is_page)
    AND NOT EXISTS (SELECT 1 FROM captures c WHERE c.host_id = u.host_id AND c.url_id = u.url_id AND c.url = u.url
        AND is_page AND c.fetched_at > u.at)
ON CONFLICT (host_id, url_id, md5(url)) DO NOTHING;

-- is_cluster: Whether this connection writes to the archive that all nodes share.
SELECT coalesce(current_setting('gossamer.owner', true), '') = %(owner)s;
