-- put: a seed, or a known one with another reach.
INSERT INTO seeds (url, reach) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET reach = excluded.reach;

-- all: every seed, in order.
SELECT url, reach FROM seeds ORDER BY url;
