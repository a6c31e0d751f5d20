"""The words of a collection in OpenSearch."""
