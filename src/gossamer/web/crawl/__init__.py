"""The crawl for people: how it runs, its rules, hosts and fetches."""
