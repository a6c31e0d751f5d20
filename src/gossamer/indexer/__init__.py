"""From the spool to the views: the indexer process and the graph process."""
