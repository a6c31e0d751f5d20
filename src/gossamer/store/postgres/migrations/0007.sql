-- Captures that no reader could read, within its limits or at all.
ALTER TABLE captures ADD COLUMN is_unread boolean NOT NULL DEFAULT false;
