"""The archive of a cluster: immutable segments in object storage."""
