-- The newest visits first, of all kinds or of some: one index for both, since the kinds are few. Ends come in the order
-- of time, so it grows at a few places only.
CREATE INDEX ends_by_time ON ends (reason, settled_at, host_id, id);
