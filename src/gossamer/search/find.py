"""Query -> Answer: the index finds, the links say who else speaks of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap, zip_longest
from threading import Lock
from typing import TypeVar

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import DirectoryUnusable, ViewDamaged
from gossamer.search.query import text_of, with_words
from gossamer.values.link import Link
from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.views.links.reader import Anchor, Incoming, LinksReader
from gossamer.views.words.dictionary import Completion, completions, corrector
from gossamer.views.words.entities import Entity
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.facets import FACETS, Facet, Span
from gossamer.views.words.searcher import FEW, FoundPage, MatchedPages, SameText, Searcher, Stored, WordCount
from gossamer.views.words.snippets import Segment


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result."""

    url: str
    title: str
    snippet: tuple[Segment, ...]
    site: str
    description: str
    language: str
    fetched_at: Instant
    types: tuple[str, ...]
    """IRIs of the classes the page states, in its order."""
    syntaxes: tuple[str, ...]
    fact_count: int
    score: float
    """0 when the answer is sorted by date."""
    copies: int = 1
    """Pages with this very text, this one included."""
    linked_from: int = 0
    """Pages that link to it."""
    anchors: tuple[Anchor, ...] = ()
    """What pages of other sites call it."""
    inferred: tuple[str, ...] = ()
    """Classes that follow from the stated ones and are not stated themselves."""
    has_all_words: bool = True
    """False when some of the words asked for are not on it."""
    may_cache: bool = True
    """False when the site asks not to show a copy (noarchive, nocache): then there is no snippet and no copy."""


class SearchAnswer(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    total: int
    """Pages that match, each copy counted."""
    took_s: float
    as_of: Instant
    """What was committed to the index before this instant has been considered."""
    all_words: bool = True
    """False when too few pages have all that was asked for, and those that have some of it follow them."""
    with_all_words: int = 0
    """How many of `total` have every word; the same as `total` when `all_words`."""
    facets: dict[str, tuple[Facet, ...]] = {}
    """By the name of the filter in an address: "type", "ontology", "property", "site", "lang", "syntax"; most frequent
    first. Only those that were asked for. A group is counted without its own filters, so that one can widen it; what
    the query chose or excludes is always in it, if only with a count of 0."""
    dates: tuple[Span, ...] = ()
    """When the pages were fetched, in days, months or years, whichever fits; oldest first, empty ones included. Counted
    without the filters on dates. Only when the facet "date" was asked for."""
    entities: tuple[Entity, ...] = ()
    """Things by that name, best first; only on the first page of an answer."""
    did_you_mean: str = ""
    """The same query in better known words, as text to search for; empty when there is no reason to ask."""
    omitted: tuple[str, ...] = ()
    """Words so frequent that they were not looked for."""
    counted: int = 0
    """Pages that facets and dates were counted over. Where that is fewer than `total`, as it is when there are very
    many, their counts are estimates, to two digits."""
    unreadable: tuple[int, ...] = ()
    """Ids of pages that belong among `hits` and whose entries in the index are damaged. `gossamer verify` says which
    pages they are, `gossamer rebuild` makes the index anew."""


__all__ = ["FACETS", "Completion", "Entity", "Facet", "Hit", "Search", "SearchAnswer", "Segment", "Span"]

REFRESH_S = 1.0
"""How old a snapshot of the index may be before a search takes a new one."""
MOST_ANCHORS_SHOWN = 3
MOST_READERS = 8
MOST_MOVES = 5
"""How often views may be replaced while they are being opened, before that counts as damage."""
MOST_MENDED = 8
"""Words of a question that are looked at for slips; a longer one is prose, and some of it is always missing."""

T = TypeVar("T")
Moved = Callable[[], tuple[Searcher, LinksReader | None] | None]
"""The views to go on with, not open yet, when others have taken the place of those at hand; else None."""


def nowhere() -> None:
    """For views that stay where they are."""


def not_made_yet() -> None:
    """For views whose absence means that there is nothing to find yet."""


class Search:
    """Usable before there is anything to find, while the indexer writes, and from several threads at once: each asks
    a snapshot that never changes, and has the links to itself while it reads them."""

    def __init__(
        self,
        searcher: Searcher,
        links: LinksReader | None,
        clock: Clock,
        refresh_s: float = REFRESH_S,
        moved: Moved = nowhere,
        refuse_lost: Callable[[], None] = not_made_yet,
    ) -> None:
        """`refuse_lost` is called when there is no index, or no links, and raises when there should be."""
        self._searcher, self._links, self._clock = searcher, links, clock
        self._refresh_s, self._moved, self._refuse_lost = refresh_s, moved, refuse_lost
        self._as_of: Instant = 0
        self._is_open = False
        self._turn = Lock()
        self._idle: list[LinksReader] = []
        self._age = 0
        """Counts snapshots: a reader of the links belongs to one, because the file may have been made again since."""

    def close(self) -> None:
        with self._turn:
            self._close()

    def renew(self) -> bool:
        """Look now for what was committed since, whatever the age of the snapshot; whether there is an index."""
        with self._turn:
            return self._renewed(self._clock.now())

    def find(self, query: Query, facets: Sequence[str] = ()) -> SearchAnswer:
        """`facets`: names from `FACETS` to count the matching pages by."""
        began = self._clock.elapsed_s()
        if not self._refreshed():
            return SearchAnswer((), 0, self._clock.elapsed_s() - began, self._as_of)
        as_of, searcher = self._as_of, self._searcher
        with searcher.damage_named():
            matches = searcher.find(query, facets)
            entities = tuple(searcher.entities(query)) if not query.offset else ()
        with self._reader() as links:
            called = links.counts_and_anchors([found.card.url for found in matches.found]) if links is not None else []
        hits = tuple(starmap(_hit_of, zip_longest(matches.found, called)))
        return SearchAnswer(
            hits=hits,
            total=matches.total,
            took_s=self._clock.elapsed_s() - began,
            as_of=as_of,
            all_words=matches.all_words,
            with_all_words=matches.with_all_words,
            facets=matches.facets,
            dates=matches.dates,
            entities=entities,
            did_you_mean=self._meant(query, matches),
            omitted=matches.omitted,
            counted=matches.counted,
            unreadable=matches.unreadable,
        )

    def is_found(self, query: Query) -> bool:
        """Whether any page has all that is asked for; far cheaper than to find it."""
        return self._of_words(lambda searcher: searcher.matching(query) > 0, False)

    def suggest(self, text: str, at_most: int = 8) -> list[Completion]:
        """Titles, names and words that go on like what was typed so far."""
        return self._of_words(lambda searcher: completions(searcher.snapshot, text[:200], at_most), [])

    def explain(self, query: Query, url: Url) -> Explanation | None:
        """Why a page stands where it stands in the answer; None when it is not in the index."""
        return self._of_words(lambda searcher: searcher.explain(query, url), None)

    def copies(self, url: Url) -> list[SameText]:
        """Pages with the very text of this one, itself included."""
        return self._of_words(lambda searcher: searcher.copies(url), [])

    def words(self, url: Url) -> list[WordCount]:
        """The forward index of a page: its words with their counts, most frequent first."""
        return self._of_words(lambda searcher: searcher.words(url), [])

    def stored(self, url: Url) -> Stored | None:
        """The page's text as it was indexed; None when it cannot be found."""
        return self._of_words(lambda searcher: searcher.stored(url), None)

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """Who links to the page, and with which words."""
        nobody: tuple[Incoming, list[Anchor]] = (Incoming(0, ()), [])
        return self._of_links(lambda links: links.about(url), nobody)

    def outgoing(self, url: Url) -> list[Link]:
        return self._of_links(lambda links: links.outgoing(url), [])

    def _meant(self, query: Query, matches: MatchedPages) -> str:
        """A spelling that is better known, when few pages have what was asked for and more have that."""
        if matches.with_all_words >= FEW or query.offset or not 0 < len(query.wanted) <= MOST_MENDED:
            return ""
        snapshot = self._searcher.snapshot
        meant = with_words(query, corrector(snapshot, query.languages or snapshot.languages))
        if meant.wanted == query.wanted or self._searcher.matching(meant) <= matches.with_all_words:
            return ""
        return text_of(meant)

    def _refreshed(self) -> bool:
        """Whether there is an index; its snapshot is then young enough. One thread renews it for all."""
        now = self._clock.now()
        if self._is_young(now):
            return True
        if self._is_open and self._turn.locked():  # another is at it: the last snapshot will do meanwhile
            return True
        with self._turn:
            return self._is_young(now) or self._renewed(now)

    def _is_young(self, now: Instant) -> bool:
        return self._is_open and 0 <= now - self._as_of < self._refresh_s * SECOND

    def _renewed(self, now: Instant) -> bool:
        self._follow()
        for _ in range(MOST_MOVES):
            try:
                self._look()
                break
            except DirectoryUnusable as trouble:  # nothing was crawled yet, or a rebuild has just replaced it
                if self._follow():
                    continue
                self._close()
                if isinstance(trouble, ViewDamaged):
                    raise
                self._refuse_lost()
                return False
        else:
            self._close()
            raise DirectoryUnusable("the views are replaced again and again; ask again once the rebuild is done")
        self._is_open, self._as_of = True, now
        self._forget_readers()
        return True

    def _look(self) -> None:
        if self._is_open:
            self._searcher.reload()
        else:
            self._searcher.open()

    def _follow(self) -> bool:
        """To views that have replaced those at hand. Who is still asking the old ones has them open, and finishes."""
        there = self._moved()
        if there is None:
            return False
        self._searcher, self._links = there
        self._is_open = False
        return True

    def _close(self) -> None:
        self._is_open = False
        self._searcher.close()
        self._forget_readers()

    def _forget_readers(self) -> None:
        self._age += 1
        idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def _of_words(self, ask: Callable[[Searcher], T], otherwise: T) -> T:
        if not self._refreshed():
            return otherwise
        searcher = self._searcher
        with searcher.damage_named():
            return ask(searcher)

    def _of_links(self, ask: Callable[[LinksReader], T], otherwise: T) -> T:
        if not self._refreshed():
            return otherwise
        with self._reader() as links:
            return ask(links) if links is not None else otherwise

    @contextmanager
    def _reader(self) -> Iterator[LinksReader | None]:
        """A reader of the links that nobody else has meanwhile; None when there are no links yet."""
        age = self._age
        reader = self._taken()
        try:
            yield reader
        finally:
            if reader is not None:
                self._give_back(reader, age)

    def _taken(self) -> LinksReader | None:
        if self._links is None:
            return None
        try:
            return self._idle.pop()
        except IndexError:
            pass
        reader = self._links.another()
        try:
            reader.open()
        except DirectoryUnusable as trouble:
            if isinstance(trouble, ViewDamaged) and trouble.path.exists():
                raise
            self._refuse_lost()
            return None  # there are none yet, or a rebuild has just replaced them
        return reader

    def _give_back(self, reader: LinksReader, age: int) -> None:
        with self._turn:
            if age == self._age and self._is_open and len(self._idle) < MOST_READERS:
                self._idle.append(reader)
                return
        reader.close()


def _hit_of(found: FoundPage, called: tuple[int, list[Anchor]] | None) -> Hit:
    card = found.card
    linked_from, anchors = called or (0, [])
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
        linked_from=linked_from,
        anchors=tuple(anchors[:MOST_ANCHORS_SHOWN]),
        inferred=card.inferred,
        has_all_words=found.has_all_words,
        may_cache=card.may_cache,
    )
