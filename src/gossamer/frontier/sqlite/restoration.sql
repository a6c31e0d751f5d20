-- waiting_ended: Pages that were visited wait no longer.
DELETE FROM queue WHERE (host_id, id) IN (SELECT host_id, id FROM ends WHERE due_at IS NULL);

-- reasons: How often visits ended in which way.
SELECT reason, count(*) FROM ends GROUP BY reason;

-- hosts_rest: What waits at each host; none is touched before ?1.
UPDATE hosts SET queued = (SELECT count(*) FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2), next_at = ?1,
    ready_at = CASE WHEN EXISTS (SELECT 1 FROM queue q WHERE q.host_id = hosts.id AND q.lane < 2) THEN ?1 END;
