"""The read side of the index, for any process and any number of threads, while the one writer works."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import tantivy

from gossamer.base.clock import Instant
from gossamer.base.errors import DirectoryUnusable, QueryRefused, ViewDamaged, damage_named
from gossamer.extract.vocabularies import Vocabularies, bundled
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Query
from gossamer.values.url import Url
from gossamer.views.words import entities, facets
from gossamer.views.words.dictionary import Completion, completions, corrector
from gossamer.views.words.entities import Entity
from gossamer.views.words.explanation import Explanation, explained
from gossamer.views.words.facets import Facet, FacetCounts, Span
from gossamer.views.words.query import WordsQuery
from gossamer.views.words.schema import (
    ANALYZER,
    FORMAT,
    POSITION,
    VERSION,
    WITH_WORDS,
    Card,
    Snapshot,
    analyzer,
    card_at,
    card_in,
    count,
    entry_at,
    held_at,
    integers,
    signs_of,
)
from gossamer.views.words.snippets import Segment, around, limited, snippets

MOST_COPIES = 100


class SameText(msgspec.Struct, frozen=True):
    """A page with the same text as another one."""

    url: str
    title: str
    site: str
    fetched_at: Instant


FEW = 10
"""If fewer pages than this have all the words, pages with some of them follow."""


class FoundPage(msgspec.Struct, frozen=True, gc=False):
    """A matching page; `copies` counts the pages with the same text, this one included."""

    card: Card
    score: float
    snippet: tuple[Segment, ...]
    copies: int = 1
    has_all_words: bool = True


class Stored(msgspec.Struct, frozen=True):
    """What the index stores of a page."""

    title: str
    text: str
    language: str
    types: tuple[str, ...]
    fetched_at: Instant
    description: str = ""
    fact_count: int = 0
    may_cache: bool = True
    """False: the site asks not to show a copy; the owner of the collection may still read it."""


class WordCount(msgspec.Struct, frozen=True):
    """A word of a page, how often it occurs, and where: the forward index."""

    word: str
    count: int
    fields: tuple[str, ...]
    """Among "title", "headings", "content", "address"."""


class MatchedPages(msgspec.Struct, frozen=True):
    found: tuple[FoundPage, ...]
    total: int
    """Matching pages, counting copies."""
    all_words: bool = True
    """False when too few pages have all the words, and pages with some of them follow."""
    with_all_words: int = 0
    facets: dict[str, tuple[Facet, ...]] = {}
    dates: tuple[Span, ...] = ()
    omitted: tuple[str, ...] = ()
    counted: int = 0
    """Pages behind facets and dates; fewer than `total` where those are estimates."""
    unreadable: tuple[int, ...] = ()
    """`Url.id` of damaged entries that would be among `found`."""


class _Ranked(NamedTuple):
    score: float
    place: tantivy.DocAddress
    copy: int
    """`copy_id`; 0 when it has none."""
    has_all: bool


class Searcher:
    """A snapshot of the index as of `open` or the last `reload`. Each query runs on one snapshot, even if another
    thread reloads meanwhile."""

    def __init__(self, folder: Path, vocabularies: Callable[[], Vocabularies] = bundled) -> None:
        """`vocabularies` returns those that queries are interpreted by; called at each `reload`."""
        self._folder, self._vocabularies = folder, vocabularies
        self._analyzer = analyzer()
        self._index: tantivy.Index | None = None
        self._snapshot: Snapshot | None = None
        self._mark: tuple[int, int, int] | None = None

    def open(self) -> None:
        with self.damage_named():
            is_there = self._folder.is_dir() and tantivy.Index.exists(str(self._folder))
            if not is_there and (self._folder / FORMAT).is_file():
                raise ViewDamaged(self._folder, "meta.json is missing")
            if not is_there:
                raise DirectoryUnusable(f"there is no index in {self._folder} yet; crawl something first")
            self._look_at_format()
            index = tantivy.Index.open(str(self._folder))
            index.config_reader("manual")
            index.register_tokenizer(ANALYZER, self._analyzer)
        self._index = index
        self.reload()

    def damage_named(self) -> AbstractContextManager[None]:
        """For readers of the snapshot: an exception of tantivy means that the index is damaged."""
        return damage_named(self._folder, ValueError, OSError, LookupError, msgspec.MsgspecError)

    def reload(self) -> None:
        """See later commits; without any, the snapshot and its caches stay."""
        assert self._index is not None, "the index is not open"
        try:
            written = (self._folder / "meta.json").stat()  # tantivy replaces it with every commit
            mark = written.st_mtime_ns, written.st_ino, written.st_size
            known = self._vocabularies()
            if mark == self._mark and self._snapshot is not None and self._snapshot.known is known:
                return
            self._index.reload()
        except FileNotFoundError as trouble:
            raise DirectoryUnusable(f"the index in {self._folder} is gone: {trouble}") from trouble
        except (ValueError, OSError) as trouble:
            if not self._folder.is_dir():  # it was just removed
                raise DirectoryUnusable(f"the index in {self._folder} is gone: {trouble}") from trouble
            raise ViewDamaged(self._folder, trouble) from trouble
        self._mark = mark
        self._snapshot = Snapshot(self._index.searcher(), self._index.schema, self._analyzer, self._snapshot, known)

    def close(self) -> None:
        self._index = self._snapshot = None

    @property
    def pages(self) -> int:
        """Entries in the index, including those without words of pages that ask not to be indexed."""
        return self.snapshot.pages

    @property
    def position(self) -> bytes:
        """The writer's position in the spool, now; also while the index is not open."""
        path = self._folder / POSITION
        return path.read_bytes() if path.is_file() else b""

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the capture times of the pages that have an entry, with words or without."""
        with self.damage_named():
            return held_at(self.snapshot.searcher, self.snapshot.schema, [url.id for url in urls])

    @property
    def snapshot(self) -> Snapshot:
        assert self._snapshot is not None, "the index is not open"
        return self._snapshot

    def find(self, query: Query, count_by: Sequence[str] = ()) -> MatchedPages:
        """REQUIRES: offset and limit are not negative, and `count_by` names facets. Copies of a text are folded into
        the best of them.

        When few pages have all the words, pages with some of them follow. Without words to rank by, the newest pages
        come first. Damaged entries are left out and listed.
        """
        if query.limit > MOST_HITS or query.offset + query.limit > DEEPEST_HIT:
            raise QueryRefused(f"at most {MOST_HITS} results at a time, and none beyond the {DEEPEST_HIT:,}th")
        if query.is_empty:
            return MatchedPages((), 0)
        snapshot = self.snapshot
        asking = WordsQuery(snapshot, query)
        wanted = asking.all_words()
        best, total = _folded(snapshot, query, wanted, has_all=True)
        with_all, all_words = total, True
        if len(asking.parts) > 1 and total < FEW and (query.sort == "best" or not total):
            wanted = asking.any_word()
            best, total = _folded(snapshot, query, wanted, has_all=False, first=best)
            all_words = total == with_all
        some = best[query.offset :]
        found = tuple(_shown(snapshot, query, asking, some, all_words))
        unreadable = _unreadable(snapshot, [one.place for one in some]) if len(found) < len(some) else ()
        key = msgspec.structs.replace(query, offset=0, limit=0, sort="best"), all_words, *count_by
        counts = FacetCounts()
        if count_by:
            pages_without = partial(asking.matching, all_words)
            counts = snapshot.recall_counts(
                key, lambda: facets.counted(snapshot, query, count_by, pages_without, total)
            )
        return MatchedPages(
            found=found,
            total=total,
            all_words=all_words,
            with_all_words=with_all,
            facets=counts.facets,
            dates=counts.dates,
            omitted=asking.omitted,
            counted=counts.counted,
            unreadable=unreadable,
        )

    def matching(self, query: Query) -> int:
        """How many pages have all the words and pass all filters."""
        return 0 if query.is_empty else count(self.snapshot.searcher, WordsQuery(self.snapshot, query).matching(True))

    def entities(self, query: Query) -> list[Entity]:
        """Entities by that name."""
        snapshot = self.snapshot
        return [] if query.is_empty else entities.named(snapshot, query, query.languages or snapshot.languages)

    def completions(self, text: str, at_most: int) -> list[Completion]:
        """Titles, names and words that start with what was typed so far."""
        return completions(self.snapshot, text, at_most)

    def corrector(self, query: Query) -> Callable[[str], str]:
        """Corrects a word of the query that no page has, or hardly any."""
        return corrector(self.snapshot, query.languages or self.snapshot.languages)

    def explain(self, query: Query, url: Url) -> Explanation | None:
        """Why the page ranks where it does; None when it is not in the index."""
        snapshot = self.snapshot
        hits = snapshot.best(snapshot.term("url_id", url.id), 1)
        if not hits or query.is_empty:
            return None
        return explained(snapshot, WordsQuery(snapshot, query), url.text, url.id, hits[0][1])

    def copies(self, url: Url) -> list[SameText]:
        """Pages with the same text, this one included, by URL; empty when it is not in the index."""
        snapshot = self.snapshot
        hits = snapshot.best(snapshot.term("url_id", url.id), 1)
        copy = integers(snapshot.searcher, "copy_id", [hits[0][1]])[0] if hits else 0
        same = snapshot.best(snapshot.term("copy_id", copy), MOST_COPIES) if copy else hits
        cards = [card for _, place in same if (card := card_at(snapshot, place)) is not None]
        found = [SameText(card.url.text, card.title, card.url.host.name, card.fetched_at) for card in cards]
        return sorted(found, key=lambda one: one.url)

    def stored(self, url: Url) -> Stored | None:
        """None when the page is not in the index, or asks not to be."""
        entry, card = self._entry(url)
        if entry is None or card is None:
            return None
        text = entry.get_first("content") or ""
        facts = card.language, card.types, card.fetched_at, card.description, card.fact_count
        return Stored(card.title, text, *facts, card.may_cache)

    def words(self, url: Url) -> list[WordCount]:
        """The forward index of a page: its words, most frequent first; empty when it is not in the index."""
        entry, card = self._entry(url)
        if entry is None or card is None:
            return []
        headings, content = "\n".join(entry.get_all("headings")), entry.get_first("content") or ""
        return forward_index(card, headings, content, self.snapshot.tokens)

    def cards(self) -> Iterator[Card]:
        """Every searchable page, in no order; for digests and exports."""
        snapshot = self.snapshot
        for start in range(0, snapshot.pages, 1000):
            for _, place in snapshot.searcher.search(WITH_WORDS, limit=1000, offset=start, count=False).hits:
                if (card := card_at(snapshot, place)) is not None:
                    yield card

    def walked(self, query: Query) -> Iterator[tuple[Card, str]]:
        """Cards and texts of all pages that match, for exports."""
        return walked(self.snapshot, query)

    def in_use(self, most: int) -> Mapping[str, Mapping[str, int]]:
        """By kind of trait, how many pages have each value; at most `most` of a kind."""
        return facets.in_use(self.snapshot, most)

    @property
    def findable(self) -> int:
        """How many pages are searchable."""
        return facets.findable(self.snapshot)

    def unreadable(self, urls: Sequence[Url]) -> list[Url]:
        """Those whose entries have words but no readable card."""
        snapshot = self.snapshot
        wanted = tantivy.Query.term_set_query(snapshot.schema, "url_id", [url.id for url in urls])
        both = tantivy.Query.boolean_query([(tantivy.Occur.Must, wanted), (tantivy.Occur.Must, WITH_WORDS)])
        with self.damage_named():
            damaged = set(_unreadable(snapshot, [place for _, place in snapshot.best(both, max(1, len(urls)))]))
        return [url for url in urls if url.id in damaged]

    def _entry(self, url: Url) -> tuple[tantivy.Document | None, Card | None]:
        snapshot = self.snapshot
        hits = snapshot.best(snapshot.term("url_id", url.id), 1)
        entry = entry_at(snapshot, hits[0][1]) if hits else None
        return entry, card_in(entry)

    def _look_at_format(self) -> None:
        mark = self._folder / FORMAT
        version = mark.read_bytes().decode("ascii", "replace") if mark.is_file() else ""
        if not version and not any(self._folder.glob("*.store")):  # its writer has only just begun
            raise DirectoryUnusable(f"there is no index in {self._folder} yet; crawl something first")
        if version != str(VERSION):
            why = f"its format is {version or 'unknown'}, and this version of Gossamer reads {VERSION}"
            raise ViewDamaged(self._folder, why)


def forward_index(card: Card, headings: str, content: str, tokens_of: Callable[[str], list[str]]) -> list[WordCount]:
    """The words of a page, most frequent first."""
    texts = {
        "title": card.title,
        "headings": headings,
        "content": content,
        "address": card.url.text.partition("://")[2].replace("_", " ").replace("%", " "),
    }
    tallies = {field: Counter(tokens_of(text)) for field, text in texts.items()}
    total = sum(tallies.values(), Counter[str]())
    return [
        WordCount(word, times, tuple(field for field, tally in tallies.items() if word in tally))
        for word, times in sorted(total.items(), key=lambda one: (-one[1], one[0]))
    ]


def _folded(
    snapshot: Snapshot, query: Query, wanted: tantivy.Query, has_all: bool, first: Sequence[_Ranked] = ()
) -> tuple[list[_Ranked], int]:
    """The best pages with different texts, as many as the query wants, `first` before the others; and how many pages
    match, counting copies. REQUIRES: `first` are few, and match."""
    enough = query.offset + query.limit
    deep = enough + 20
    known = {(one.place.segment_ord, one.place.doc) for one in first}
    while True:
        if query.sort == "best" and query.wanted:
            hits, total = snapshot.best_of(wanted, deep)
        else:
            total = count(snapshot.searcher, wanted)
            hits = [(0.0, place) for _, place in snapshot.newest(wanted, deep, query.sort == "oldest")]
        copies = integers(snapshot.searcher, "copy_id", [place for _, place in hits])
        ranked = [
            _Ranked(score, place, copy, has_all)
            for (score, place), copy in zip(hits, copies, strict=True)
            if not known or (place.segment_ord, place.doc) not in known
        ]
        best: dict[int, _Ranked] = {}
        for number, one in enumerate([*first, *ranked]):
            best.setdefault(one.copy or number + 1, one)
        if len(best) >= enough or len(hits) < deep or deep >= DEEPEST_HIT:
            return list(best.values())[:enough], total
        deep *= 4


def _shown(
    snapshot: Snapshot, query: Query, asking: WordsQuery, best: list[_Ranked], all_words: bool
) -> Iterator[FoundPage]:
    if not best:
        return
    snippet_of = snippets(snapshot.searcher, snapshot.schema, "content", asking.shown())
    texts = (" ".join(word.text) for word in query.wanted)
    signs = next((text for text in texts if signs_of(text)), "")
    for score, place, copy, has_all in best:
        entry = entry_at(snapshot, place)
        card = card_in(entry)
        if entry is None or card is None:
            continue
        snippet = () if signs or not card.quotable else snippet_of(entry)
        if card.quotable and not any(part.is_match for part in snippet):
            snippet = around(entry.get_first("content") or "", signs, card.description)
        if card.quotable > 0:
            snippet = limited(snippet, card.quotable)
        copies = snapshot.with_number("copy_id", copy) if copy else 1
        yield FoundPage(card, score, snippet, copies, has_all or all_words)


def _unreadable(snapshot: Snapshot, places: Iterable[tantivy.DocAddress]) -> tuple[int, ...]:
    """`Url.id` of the entries without a readable card."""
    return tuple(integers(snapshot.searcher, "url_id", [place for place in places if card_at(snapshot, place) is None]))


# Every matching page, for exports, in constant memory. All pages come from one snapshot, so a commit meanwhile neither
# repeats nor skips a page.

STEP = 5_000
"""Pages fetched at a time, beyond DEEPEST_HIT of them."""


def walked(snapshot: Snapshot, query: Query) -> Iterator[tuple[Card, str]]:
    """Cards and texts, in the query's order up to DEEPEST_HIT pages, else by id. Copies are not folded. An empty query
    matches all pages."""
    wanted, total = _wanted(snapshot, query)
    is_ordered = total <= DEEPEST_HIT and not query.is_empty
    for place in _in_order(snapshot, query, wanted) if is_ordered else _by_id(snapshot, wanted):
        entry = entry_at(snapshot, place)
        if entry is not None and (card := card_in(entry)) is not None:
            yield card, entry.get_first("content") or ""


def _wanted(snapshot: Snapshot, query: Query) -> tuple[tantivy.Query, int]:
    """What a search with the same words would match."""
    if query.is_empty:
        return WITH_WORDS, snapshot.pages
    asking = WordsQuery(snapshot, query)
    wanted = asking.all_words()
    total = count(snapshot.searcher, wanted)
    if len(asking.parts) > 1 and total < FEW and (query.sort == "best" or not total):
        wanted = asking.some_words()
        total = count(snapshot.searcher, wanted)
    return wanted, total


def _in_order(snapshot: Snapshot, query: Query, wanted: tantivy.Query) -> list[tantivy.DocAddress]:
    if query.sort == "best" and query.wanted:
        return [place for _, place in snapshot.best(wanted, DEEPEST_HIT)]
    return [place for _, place in snapshot.newest(wanted, DEEPEST_HIT, query.sort == "oldest")]


def _by_id(snapshot: Snapshot, wanted: tantivy.Query) -> Iterator[tantivy.DocAddress]:
    """Each step continues after the last id of the one before; ids are unique."""
    narrowed = wanted
    while True:
        hits = snapshot.searcher.search(
            narrowed, limit=STEP, count=False, order_by_field="url_id", order=tantivy.Order.Asc
        ).hits
        yield from (place for _, place in hits)
        if len(hits) < STEP:
            return
        later = tantivy.Query.range_query(
            snapshot.schema, "url_id", tantivy.FieldType.Integer, lower_bound=hits[-1][0], include_lower=False
        )
        narrowed = tantivy.Query.boolean_query([(tantivy.Occur.Must, wanted), (tantivy.Occur.Must, later)])
