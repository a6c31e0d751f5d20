-- The encoding that a page was read in, and what told it (values.capture.CHARSET_FROM); empty where no text was read.
ALTER TABLE captures ADD COLUMN charset TEXT NOT NULL DEFAULT '';
ALTER TABLE captures ADD COLUMN charset_from TEXT NOT NULL DEFAULT '';
