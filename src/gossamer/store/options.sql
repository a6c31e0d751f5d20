-- option_put: An option was given; it replaces the one before.
INSERT INTO options (name, value, given_at) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, given_at = excluded.given_at;

-- options: Every option that was given.
SELECT name, value, given_at FROM options ORDER BY name;

-- option_drop: An option does not apply any more.
DELETE FROM options WHERE name = ?;

-- judged: What refusals were last decided by.
SELECT name, digest FROM judged_by;

-- judge_by: What they are decided by from now on.
INSERT INTO judged_by (name, digest) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET digest = excluded.digest;

-- seed_put: A seed, or a known one with another reach.
INSERT INTO seeds (url, reach) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET reach = excluded.reach;

-- seed_put on PostgreSQL: A long URL has no place in an index, only its digest.
INSERT INTO seeds (url, reach) VALUES (?, ?) ON CONFLICT (md5(url)) DO UPDATE SET reach = excluded.reach;

-- seeds: Every seed, in order.
SELECT url, reach FROM seeds ORDER BY url;
