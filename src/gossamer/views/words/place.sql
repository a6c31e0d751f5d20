-- owner: The name by which a search service knows whose indexes it has.
SELECT content FROM documents WHERE name = 'collection.id';
