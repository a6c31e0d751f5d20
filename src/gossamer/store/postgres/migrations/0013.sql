-- A cluster: what its indexers need beyond the table `work`.
SELECT 1;
