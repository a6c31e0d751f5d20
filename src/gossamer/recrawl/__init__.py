"""When to revisit: rates of change, freshness and age, the revisit policies, and retries."""
