"""Query -> Answer: the index finds, the links say who else speaks of it."""

from collections.abc import Sequence
from threading import RLock

import msgspec

from gossamer.clock import SECOND, Clock, Instant
from gossamer.errors import DirectoryUnusable
from gossamer.index.searcher import Facet, Found, Searcher, Stored
from gossamer.index.snippets import Segment
from gossamer.links.reader import Anchor, Incoming, LinksReader
from gossamer.values.link import Link
from gossamer.values.query import Query
from gossamer.values.url import Url

REFRESH_S = 1.0
"""How old a snapshot of the index may be before a search takes a new one."""
MOST_ANCHORS_SHOWN = 3


class Hit(msgspec.Struct, frozen=True):
    """One result. Its texts come from the web: whoever shows them escapes them."""

    url: str
    title: str
    snippet: tuple[Segment, ...]
    site: str
    description: str
    language: str
    fetched_at: Instant
    types: tuple[str, ...]
    syntaxes: tuple[str, ...]
    fact_count: int
    score: float
    copies: int = 1
    """Pages with this very text, this one included."""
    linked_from: int = 0
    """Pages that link to it."""
    anchors: tuple[Anchor, ...] = ()
    """What pages of other sites call it."""


class Answer(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    total: int
    took_s: float
    as_of: Instant
    """What was committed to the index before this instant has been considered."""
    all_words: bool = True
    """False when no page has all that was asked for, and these have some of it."""
    facets: dict[str, tuple[Facet, ...]] = {}


class Search:
    """Usable before there is anything to find, while the indexer writes, and from several threads in turn."""

    def __init__(self, searcher: Searcher, links: LinksReader | None, clock: Clock) -> None:
        self._searcher, self._links, self._clock = searcher, links, clock
        self._as_of: Instant = 0
        self._is_open = self._has_links = False
        self._turn = RLock()

    def close(self) -> None:
        with self._turn:
            self._searcher.close()
            if self._links is not None:
                self._links.close()
            self._is_open = self._has_links = False

    def find(self, query: Query, facets: Sequence[str] = ()) -> Answer:
        """`facets`: names from `index.searcher.FACETS` to count the matching pages by."""
        began = self._clock.elapsed_s()
        with self._turn:
            if not self._refreshed():
                return Answer((), 0, self._clock.elapsed_s() - began, self._as_of)
            matches = self._searcher.find(query)
            counted = {name: self._searcher.facets(query, name) for name in facets}
            hits = tuple(map(self._hit_of, matches.found))
        took_s = self._clock.elapsed_s() - began
        return Answer(hits, matches.total, took_s, self._as_of, matches.all_words, counted)

    def stored(self, url: Url) -> Stored | None:
        """The page's text as it was indexed; None when it cannot be found."""
        with self._turn:
            return self._searcher.stored(url) if self._refreshed() else None

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """Who links to the page, and with which words."""
        with self._turn:
            has_links = self._refreshed() and self._has_links
            return self._links.about(url) if has_links and self._links is not None else (Incoming(0, ()), [])

    def outgoing(self, url: Url) -> list[Link]:
        with self._turn:
            has_links = self._refreshed() and self._has_links
            return self._links.outgoing(url) if has_links and self._links is not None else []

    def _refreshed(self) -> bool:
        """Whether there is an index; its snapshot is then young enough."""
        now = self._clock.now()
        if self._is_open and 0 <= now - self._as_of < REFRESH_S * SECOND:
            return True
        try:
            if self._is_open:
                self._searcher.reload()
            else:
                self._searcher.open()
        except DirectoryUnusable:  # nothing was crawled yet, or it is being made anew
            self.close()
            return False
        self._is_open, self._as_of = True, now
        self._open_links()
        return True

    def _open_links(self) -> None:
        """Anew with each snapshot: the file may have been deleted and made again."""
        if self._links is None:
            return
        self._links.close()
        try:
            self._links.open()
            self._has_links = True
        except DirectoryUnusable:
            self._has_links = False

    def _hit_of(self, found: Found) -> Hit:
        card = found.card
        count, anchors = self._spoken_of(card.url)
        return Hit(
            url=card.url.text,
            title=card.title,
            snippet=found.snippet,
            site=card.url.host.name,
            description=card.description,
            language=card.language,
            fetched_at=card.fetched_at,
            types=card.types,
            syntaxes=card.syntaxes,
            fact_count=card.fact_count,
            score=found.score,
            copies=found.copies,
            linked_from=count,
            anchors=anchors,
        )

    def _spoken_of(self, url: Url) -> tuple[int, tuple[Anchor, ...]]:
        if self._links is None or not self._has_links:
            return 0, ()
        incoming, anchors = self._links.about(url)
        others = [anchor for anchor in anchors if not anchor.is_own_site]
        return incoming.count, tuple(others[:MOST_ANCHORS_SHOWN])
