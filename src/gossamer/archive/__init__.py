"""Keep it: WARC volumes and their catalogue."""
