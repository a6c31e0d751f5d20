-- retired: A host is visited no more.
UPDATE hosts SET retired_at = ?, retired_why = ?, ready_at = NULL, in_back = 0 WHERE id = ? AND retired_at IS NULL;

-- reinstated: It is visited again.
UPDATE hosts SET retired_at = NULL, retired_why = NULL, troubles = 0, failing = 0, failing_since = NULL,
    ready_at = CASE WHEN leased OR queued = 0 THEN NULL ELSE next_at END
WHERE id = ? AND retired_at IS NOT NULL;
