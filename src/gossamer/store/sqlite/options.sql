-- put: An option was given; it replaces the one before.
INSERT OR REPLACE INTO options (name, value, given_at) VALUES (?, ?, ?);

-- all: Every option that was given.
SELECT name, value, given_at FROM options ORDER BY name;

-- drop: An option does not apply any more.
DELETE FROM options WHERE name = ?;

-- judged: What refusals were last judged by.
SELECT name, digest FROM judged_by;

-- judge_by: What they are judged by from now on.
INSERT OR REPLACE INTO judged_by (name, digest) VALUES (?, ?);
