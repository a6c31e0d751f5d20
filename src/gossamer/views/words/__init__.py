"""Words one can ask: tantivy."""
