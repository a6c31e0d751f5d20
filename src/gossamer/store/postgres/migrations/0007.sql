-- Captures that a reader could not read within its limits, or at all.
ALTER TABLE captures ADD COLUMN is_unread boolean NOT NULL DEFAULT false;
