"""From a query to an answer: hits from the index, with the pages that link to them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from gossamer.views.links.reader import Anchor, Incoming, Links
from gossamer.views.words.dictionary import Completion
from gossamer.views.words.entities import Entity
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.facets import FACETS, Facet, Span
from gossamer.views.words.reader import WordsReader
from gossamer.views.words.searcher import FEW, FoundPage, MatchedPages, SameText, Stored, WordCount
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
    """Pages with exactly this text, including this one."""
    linked_from: int = 0
    """Pages that link to it."""
    anchors: tuple[Anchor, ...] = ()
    """The link texts of other sites."""
    inferred: tuple[str, ...] = ()
    """Classes that follow from the stated ones but are not stated."""
    has_all_words: bool = True
    """False if it lacks some of the words of the query."""
    may_cache: bool = True
    """False if the site asks not to show a copy (noarchive, nocache): there is no snippet and no copy then."""


class SearchAnswer(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    total: int
    """Pages that match, including copies."""
    took_s: float
    as_of: Instant
    """Everything committed to the index before this instant is included."""
    all_words: bool = True
    """False if too few pages match the whole query, so that pages that match some of it follow them."""
    with_all_words: int = 0
    """How many of `total` have every word; the same as `total` when `all_words`."""
    facets: dict[str, tuple[Facet, ...]] = {}
    """By the name of the filter in a URL: "type", "ontology", "property", "site", "lang", "syntax"; most frequent
    first. Only those requested. A group is counted without its own filters, so that the user can widen it; values that
    the query selects or excludes are always in it, even with a count of 0."""
    dates: tuple[Span, ...] = ()
    """When the pages were fetched, by day, month or year, whichever fits; oldest first, including empty spans. Counted
    without the date filters. Only if the facet "date" was requested."""
    entities: tuple[Entity, ...] = ()
    """Entities of that name, best first; only on the first page of an answer."""
    did_you_mean: str = ""
    """The query with more frequent spellings, as text to search for; empty if there is no suggestion."""
    omitted: tuple[str, ...] = ()
    """Words so frequent that they were ignored."""
    counted: int = 0
    """Pages that facets and dates were counted over. If it is less than `total`, as with very many pages, the counts
    are estimates, to two digits."""
    unreadable: tuple[int, ...] = ()
    """Ids of pages that belong to `hits` but whose index entries are damaged. `gossamer verify` names them,
    `gossamer rebuild` makes a new index."""


__all__ = ["FACETS", "Completion", "Entity", "Facet", "Hit", "Search", "SearchAnswer", "Segment", "Span"]

REFRESH_S = 1.0
"""How old a snapshot of the index may be before a search takes a new one."""
MOST_ANCHORS_SHOWN = 3
MOST_READERS = 8
MOST_MOVES = 5
"""How often views may be replaced while they are being opened, before that counts as damage."""
MOST_CORRECTED = 8
"""Words of a query that is checked for typing errors; a longer one is prose, and always lacks a match for some."""

T = TypeVar("T")
Moved = Callable[[], tuple[WordsReader, Links | None] | None]
"""The new views, not open yet, if they have replaced the present ones; else None."""


def not_moved() -> None:
    """For views that are never replaced."""


def not_made_yet() -> None:
    """For views whose absence means that there is nothing to find yet."""


class Search:
    """Usable before anything is indexed, while the indexer writes, and from several threads at once: each reads an
    immutable snapshot, and has a reader of the links to itself."""

    def __init__(
        self,
        searcher: WordsReader,
        links: Links | None,
        clock: Clock,
        refresh_s: float = REFRESH_S,
        moved: Moved = not_moved,
        refuse_lost: Callable[[], None] = not_made_yet,
    ) -> None:
        """`refuse_lost` is called if there is no index or no links, and raises if there should be."""
        self._searcher, self._links, self._clock = searcher, links, clock
        self._refresh_s, self._moved, self._refuse_lost = refresh_s, moved, refuse_lost
        self._as_of: Instant = 0
        self._is_open = False
        self._turn = Lock()
        self._idle: list[Links] = []
        self._age = 0
        """Counts snapshots: a reader of the links belongs to one, as the file may have been replaced since."""

    def close(self) -> None:
        with self._turn:
            self._close()

    def renew(self) -> bool:
        """Take a new snapshot now, no matter how old the last one is; returns whether there is an index."""
        with self._turn:
            return self._renewed(self._clock.now())

    def find(self, query: Query, facets: Sequence[str] = ()) -> SearchAnswer:
        """`facets`: names from `FACETS` to count the matching pages by."""
        began_s = self._clock.elapsed_s()
        if not self._refreshed():
            return SearchAnswer((), 0, self._clock.elapsed_s() - began_s, self._as_of)
        as_of, searcher = self._as_of, self._searcher
        with searcher.damage_named():
            matches = searcher.find(query, facets)
            entities = tuple(searcher.entities(query)) if not query.offset else ()
        with self._reader() as links:
            called = links.counts_and_anchors([found.card.url for found in matches.found]) if links is not None else []
        hits = tuple(starmap(_hit_of, zip_longest(matches.found, called)))
        same = {name: value for name, value in msgspec.structs.asdict(matches).items() if name != "found"}
        return SearchAnswer(
            hits=hits,
            took_s=self._clock.elapsed_s() - began_s,
            as_of=as_of,
            entities=entities,
            did_you_mean=self._suggestion(query, matches),
            **same,
        )

    def is_found(self, query: Query) -> bool:
        """Whether any page matches the whole query; far cheaper than finding it."""
        return self._of_words(lambda searcher: searcher.matching(query) > 0, False)

    def suggest(self, text: str, at_most: int = 8) -> list[Completion]:
        """Titles, names and words that start with what was typed so far."""
        return self._of_words(lambda searcher: searcher.completions(text[:200], at_most), [])

    def explain(self, query: Query, url: Url) -> Explanation | None:
        """Why a page has its rank in the answer; None if it is not in the index."""
        return self._of_words(lambda searcher: searcher.explain(query, url), None)

    def copies(self, url: Url) -> list[SameText]:
        """Pages with exactly the text of this one, including itself."""
        return self._of_words(lambda searcher: searcher.copies(url), [])

    def words(self, url: Url) -> list[WordCount]:
        """The forward index of a page: its words with their counts, most frequent first."""
        return self._of_words(lambda searcher: searcher.words(url), [])

    def stored(self, url: Url) -> Stored | None:
        """The page's text as it was indexed; None if it is not in the index."""
        return self._of_words(lambda searcher: searcher.stored(url), None)

    def about(self, url: Url) -> tuple[Incoming, list[Anchor]]:
        """The pages that link to this one, and their link texts."""
        none: tuple[Incoming, list[Anchor]] = (Incoming(0, ()), [])
        return self._of_links(lambda links: links.about(url), none)

    def outgoing(self, url: Url) -> list[Link]:
        return self._of_links(lambda links: links.outgoing(url), [])

    def _suggestion(self, query: Query, matches: MatchedPages) -> str:
        """The query with more frequent spellings, if few pages match it and more pages match that."""
        if matches.with_all_words >= FEW or query.offset or not 0 < len(query.wanted) <= MOST_CORRECTED:
            return ""
        corrected = with_words(query, self._searcher.corrector(query))
        if corrected.wanted == query.wanted or self._searcher.matching(corrected) <= matches.with_all_words:
            return ""
        return text_of(corrected)

    def _refreshed(self) -> bool:
        """Whether there is an index with a fresh snapshot. One thread takes it for all."""
        now = self._clock.now()
        if self._is_young(now):
            return True
        if self._is_open and self._turn.locked():  # another thread is taking one: the last snapshot will do
            return True
        with self._turn:
            return self._is_young(now) or self._renewed(now)

    def _is_young(self, now: Instant) -> bool:
        return self._is_open and 0 <= now - self._as_of < self._refresh_s * SECOND

    def _renewed(self, now: Instant) -> bool:
        self._switch()
        for _ in range(MOST_MOVES):
            try:
                if self._is_open:
                    self._searcher.reload()
                else:
                    self._searcher.open()
                break
            except DirectoryUnusable as trouble:  # nothing was crawled yet, or a rebuild has just replaced it
                if self._switch():
                    continue
                self._close()
                if isinstance(trouble, ViewDamaged):
                    raise
                self._refuse_lost()
                return False
        else:
            self._close()
            raise DirectoryUnusable("the views keep being replaced; try again when the rebuild has ended")
        self._is_open, self._as_of = True, now
        self._forget_readers()
        return True

    def _switch(self) -> bool:
        """To views that have replaced the present ones. Threads that still use those have them open, and finish."""
        new = self._moved()
        if new is None:
            return False
        self._searcher, self._links = new
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

    def _of_words(self, ask: Callable[[WordsReader], T], otherwise: T) -> T:
        if not self._refreshed():
            return otherwise
        searcher = self._searcher
        with searcher.damage_named():
            return ask(searcher)

    def _of_links(self, ask: Callable[[Links], T], otherwise: T) -> T:
        if not self._refreshed():
            return otherwise
        with self._reader() as links:
            return ask(links) if links is not None else otherwise

    @contextmanager
    def _reader(self) -> Iterator[Links | None]:
        """A reader of the links for this thread alone; None if there are no links yet."""
        age = self._age
        reader = self._idle_reader()
        try:
            yield reader
        finally:
            if reader is not None:
                self._release(reader, age)

    def _idle_reader(self) -> Links | None:
        if self._links is None:
            return None
        with suppress(IndexError):
            return self._idle.pop()
        reader = self._links.another()
        try:
            reader.open()
        except DirectoryUnusable as trouble:
            if isinstance(trouble, ViewDamaged) and trouble.path.exists():
                raise
            self._refuse_lost()
            return None  # there are none yet, or a rebuild has just replaced them
        return reader

    def _release(self, reader: Links, age: int) -> None:
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
