"""The frontier in a PostgreSQL database that many crawlers share."""
