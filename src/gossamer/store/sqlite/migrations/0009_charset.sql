-- The encoding a page was decoded with, and its source (values.capture.CHARSET_FROM); empty if no text was read.
ALTER TABLE captures ADD COLUMN charset TEXT NOT NULL DEFAULT '';
ALTER TABLE captures ADD COLUMN charset_from TEXT NOT NULL DEFAULT '';
