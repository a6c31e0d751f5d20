-- next_pasts: The next pages that come again, in the order of their keys, and what is remembered of them.
SELECT r.host_id, r.id, name, past
FROM revisits r JOIN hosts h ON h.id = r.host_id
WHERE (r.host_id, r.id) > (?, ?)
ORDER BY r.host_id, r.id LIMIT ?;
