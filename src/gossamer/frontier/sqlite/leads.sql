-- is_known: Whether an address was met before.
SELECT 1 FROM addresses WHERE host_id = ? AND id = ?;
