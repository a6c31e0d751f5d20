-- The encoding that a page was read in, and what told it (values.capture.CHARSET_FROM); empty where no text was read.
ALTER TABLE captures ADD COLUMN charset text NOT NULL DEFAULT '';
ALTER TABLE captures ADD COLUMN charset_from text NOT NULL DEFAULT '';
