"""When again? Rates of change, freshness and age, the visiting policies, and retries."""
