-- every_end: Each address that was visited, and how its last visit ended.
SELECT lane, name, text, reason
FROM ends e JOIN addresses a ON a.host_id = e.host_id AND a.id = e.id JOIN hosts h ON h.id = e.host_id;
