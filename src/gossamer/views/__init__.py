"""The views: words, facts and links, each with a writer and a reader."""
