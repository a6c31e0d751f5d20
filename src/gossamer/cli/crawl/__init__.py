"""Commands that run a crawl and steer it."""
