-- Lists the newest visits, with any reason or some: one index serves both, since there are few reasons. Visits end in
-- the order of time, so it grows in few places only.
CREATE INDEX ends_by_time ON ends (reason, settled_at, host_id, id);
