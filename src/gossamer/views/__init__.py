"""Ask it: words, facts and links, each a writer and a reader."""
