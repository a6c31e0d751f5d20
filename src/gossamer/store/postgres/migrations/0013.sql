-- A cluster: what its indexers need beyond the table `work`.

-- By this name its indexes at a search service know whose pages they have.
INSERT INTO documents (name, content, changed_at)
VALUES ('collection.id', convert_to(replace(gen_random_uuid()::text, '-', ''), 'UTF8'), 0);
