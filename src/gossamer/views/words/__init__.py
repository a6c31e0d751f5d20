"""The words of pages: an index in tantivy or OpenSearch."""
