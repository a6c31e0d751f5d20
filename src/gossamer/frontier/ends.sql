-- every_end: Each address that was visited, and how its last visit ended.
SELECT url, reason FROM addresses WHERE reason IS NOT NULL;
