-- mark: A damaged record; if it was known before, only the reason is new.
INSERT INTO damage (volume, number, capture_id, why, found_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (volume, number) DO UPDATE SET why = excluded.why, capture_id = excluded.capture_id;

-- mark on PostgreSQL: Each directory has volumes of its own.
INSERT INTO damage (volume, number, capture_id, why, found_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (owner, volume, number) DO UPDATE SET why = excluded.why, capture_id = excluded.capture_id;

-- in_volume: The marks of one volume.
SELECT number FROM damage WHERE volume = ?;

-- clear: The record is whole again, or gone.
DELETE FROM damage WHERE volume = ? AND number = ?;

-- acknowledge: A user accepts the loss of everything that is marked in a volume.
UPDATE damage SET acknowledged_at = ? WHERE volume = ? AND acknowledged_at IS NULL;

-- acknowledged: The marks that were accepted.
SELECT volume, number FROM damage WHERE acknowledged_at IS NOT NULL;

-- counts: All marks, and those that no user has accepted.
SELECT count(*), count(*) - count(acknowledged_at) FROM damage;

-- of_capture: Why a capture cannot be read.
SELECT why FROM damage WHERE capture_id = ?;

-- moved: A damaged record was copied to another volume.
UPDATE damage SET volume = ?, number = ? WHERE volume = ? AND number = ?;

-- volume_cleared: A volume is deleted.
DELETE FROM damage WHERE volume = ?;
