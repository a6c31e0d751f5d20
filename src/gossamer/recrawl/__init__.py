"""When again? Retries now; freshness later."""
