-- add: A counter moves by so much.
INSERT INTO tallies (name, number) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number;

-- add on PostgreSQL: There each crawler has a slot of its own, so that none waits for another; all share slot 0.
INSERT INTO tally_slots (slot, name, number) VALUES (0, ?, ?)
ON CONFLICT (slot, name) DO UPDATE SET number = tally_slots.number + excluded.number;

-- all: Every counter.
SELECT name, number FROM tallies;
