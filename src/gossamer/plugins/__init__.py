"""Other people's filters, readers and protocols."""
