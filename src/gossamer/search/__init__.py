"""The search: from a query to a ranked answer."""
