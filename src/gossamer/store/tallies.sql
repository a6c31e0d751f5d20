-- add: A counter moves by so much.
INSERT INTO tallies (name, number) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number;

-- all: Every counter.
SELECT name, number FROM tallies;
