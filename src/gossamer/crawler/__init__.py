"""One page's journey, seed to spool, and the process that crawls."""
