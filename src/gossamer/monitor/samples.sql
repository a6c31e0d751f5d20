-- next_pasts: The next pages that are revisited, by key; with a step, only a sample chosen by id.
SELECT r.host_id, r.id, name, past
FROM revisits r JOIN hosts h ON h.id = r.host_id
WHERE (r.host_id, r.id) > (?, ?) AND r.id & ? = 0
ORDER BY r.host_id, r.id LIMIT ?;

-- amount: The number of pages with a revisit history.
SELECT count(*) FROM revisits;

-- newest: The last capture in the catalogue.
SELECT name, number FROM volumes v CROSS JOIN captures c ON volume_id = v.id
ORDER BY name DESC, number DESC LIMIT 1;

-- visits: From the captures after a place in the archive and since some moment: how many fetches found a known page,
-- how each ended, and their bytes. 301 to 308, 404 and 410 mean that a page is gone.
WITH new AS (
    SELECT c.status, c.is_page, c.refers_at, c.size,
        EXISTS (SELECT 1 FROM captures b WHERE b.host_id = c.host_id AND b.url_id = c.url_id
            AND b.fetched_at < c.fetched_at AND b.is_page) AS was_page,
        (SELECT b.status IN (301, 302, 303, 307, 308, 404, 410) FROM captures b WHERE b.host_id = c.host_id
            AND b.url_id = c.url_id AND b.fetched_at < c.fetched_at ORDER BY b.fetched_at DESC LIMIT 1) AS was_gone,
        c.status IN (301, 302, 303, 307, 308, 404, 410) AS is_gone,
        coalesce((SELECT o.size FROM captures o WHERE c.status = 304 AND o.host_id = c.host_id
            AND o.url_id = c.url_id AND o.fetched_at = c.refers_at), 0) AS original_size
    FROM volumes v CROSS JOIN captures c ON c.volume_id = v.id
    WHERE v.name >= :volume AND (v.name > :volume OR c.number > :number) AND c.fetched_at >= :since_at
)
SELECT
    count(*) FILTER (WHERE was_page),
    count(*) FILTER (WHERE was_page AND is_page),
    count(*) FILTER (WHERE was_page AND status = 304),
    count(*) FILTER (WHERE was_page AND status <> 304 AND refers_at IS NOT NULL),
    count(*) FILTER (WHERE was_page AND NOT is_page AND refers_at IS NULL AND status BETWEEN 200 AND 299),
    count(*) FILTER (WHERE is_page AND NOT was_page),
    count(*) FILTER (WHERE was_page AND is_gone AND NOT was_gone),
    count(*) FILTER (WHERE was_page AND is_page AND was_gone),
    coalesce(sum(size) FILTER (WHERE was_page AND NOT is_gone), 0),
    coalesce(sum(original_size), 0)
FROM new;
