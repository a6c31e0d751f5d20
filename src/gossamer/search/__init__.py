"""Answer: words and facts together."""
