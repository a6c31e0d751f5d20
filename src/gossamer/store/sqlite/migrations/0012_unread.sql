-- Captures that a reader could not read within its limits, or at all: `gossamer rebuild` reads them again.
ALTER TABLE captures ADD COLUMN is_unread INTEGER NOT NULL DEFAULT 0;
CREATE INDEX captures_unread ON captures (volume_id, number) WHERE is_unread;

-- Those known from the last visit to their URL: read-timeout, read-crash, read-memory.
UPDATE captures SET is_unread = 1 WHERE NOT is_page AND refers_at IS NULL AND status BETWEEN 200 AND 299
    AND (url, fetched_at) IN (
        SELECT c.url, max(c.fetched_at) FROM ends JOIN addresses USING (host_id, id) JOIN hosts ON hosts.id = ends.host_id
        JOIN captures c ON c.url = CASE lane WHEN 1 THEN 'https://' ELSE 'http://' END || hosts.name || '/' || text
        WHERE reason IN (50, 51, 52) GROUP BY c.url);
