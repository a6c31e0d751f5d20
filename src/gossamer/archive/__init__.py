"""The archive: WARC volumes and their catalogue."""
