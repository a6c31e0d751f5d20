-- A cluster: its nodes, their heartbeats and figures, and commands to them.
SELECT 1;
