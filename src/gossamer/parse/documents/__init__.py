"""Documents other than HTML and XML, from bytes to text with structure. No IO, no clock, no network."""
