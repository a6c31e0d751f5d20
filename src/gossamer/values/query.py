"""What a person asks of the index; `gossamer.search.query` reads it from their words."""

import msgspec

MOST_HITS = 100
DEEPEST_HIT = 10_000


class Query(msgspec.Struct, frozen=True):
    """All words and phrases are wanted, in any order and any part of the page; filters narrow what may be found."""

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[tuple[str, ...], ...] = ()
    """Words, or phrases of several words, that must not be on the page."""
    site: str = ""
    """A host name; hosts below it count too (`example.org` finds `www.example.org`)."""
    type: str = ""
    """A class: its whole IRI, or its last part (`Person`)."""
    language: str = ""
    without_sites: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    offset: int = 0
    limit: int = 10

    @property
    def is_empty(self) -> bool:
        """Nothing is asked for: words that must be absent do not make a question of their own."""
        return not (self.words or self.phrases or self.site or self.type or self.language)
