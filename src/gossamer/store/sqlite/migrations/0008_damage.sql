-- Records that `gossamer verify` found damaged. If the catalogue knows the record, it has its URL.
CREATE TABLE damage (
    volume TEXT NOT NULL,
    number INTEGER NOT NULL,
    capture_id INTEGER,                     -- NULL: the catalogue knows no capture there
    why TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    acknowledged_at INTEGER,                -- when a user accepted the loss
    PRIMARY KEY (volume, number)
) WITHOUT ROWID;

CREATE INDEX damage_by_capture ON damage (capture_id) WHERE capture_id IS NOT NULL;
