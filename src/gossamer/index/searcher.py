"""The read side of the index: any process, any number of them, beside the one writer."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import tantivy

from gossamer.clock import Instant
from gossamer.errors import DirectoryUnusable, QueryRefused
from gossamer.index.asking import Asking
from gossamer.index.schema import ANALYZER, Card, analyzer, signs_of
from gossamer.index.snapshot import count, integers
from gossamer.index.snippets import LONGEST, Segment, around, segments_of
from gossamer.values.query import DEEPEST_HIT, MOST_HITS, Query
from gossamer.values.url import Url

FACETS = ("host", "language", "types", "syntaxes")

_CARD = msgspec.msgpack.Decoder(Card)


class Found(msgspec.Struct, frozen=True):
    """One page that matches; `copies` counts the pages with the same text, this one included."""

    card: Card
    score: float
    snippet: tuple[Segment, ...]
    copies: int = 1


class Stored(msgspec.Struct, frozen=True):
    """What the index holds of one page."""

    title: str
    text: str
    language: str
    types: tuple[str, ...]
    fetched_at: Instant
    description: str = ""
    fact_count: int = 0


class Facet(msgspec.Struct, frozen=True, array_like=True):
    value: str
    count: int


class Matches(msgspec.Struct, frozen=True):
    found: tuple[Found, ...]
    total: int
    """Pages that match, each copy counted."""
    all_words: bool = True
    """False when no page has all that was asked for and these have some of it."""


class Searcher:
    """A snapshot of the index as of `open` or the last `reload`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._analyzer = analyzer()
        self._index: tantivy.Index | None = None
        self._snapshot: tantivy.Searcher | None = None
        self._asking: Asking | None = None

    def open(self) -> None:
        if not self._folder.is_dir() or not tantivy.Index.exists(str(self._folder)):
            raise DirectoryUnusable(f"there is no index in {self._folder} yet; crawl something first")
        self._index = tantivy.Index.open(str(self._folder))
        self._index.config_reader("manual")
        self._index.register_tokenizer(ANALYZER, self._analyzer)
        self._asking = Asking(self._index.schema, self._analyzer)
        self.reload()

    def reload(self) -> None:
        """See what was committed since."""
        assert self._index is not None, "the index is not open"
        try:
            self._index.reload()
        except ValueError as trouble:
            raise DirectoryUnusable(f"the index in {self._folder} is gone: {trouble}") from trouble
        self._snapshot = self._index.searcher()

    def close(self) -> None:
        self._index = self._snapshot = self._asking = None

    @property
    def pages(self) -> int:
        """Entries in the index; pages that asked not to be indexed have one too, without words."""
        return int(self._opened()[0].num_docs)

    def find(self, query: Query) -> Matches:
        """REQUIRES: offset and limit are not negative. Copies of one text are folded into the best of them.

        When no page has everything that was asked for, those that have some of it are the answer.
        """
        if query.limit > MOST_HITS or query.offset + query.limit > DEEPEST_HIT:
            raise QueryRefused(f"at most {MOST_HITS} results at a time, and none beyond the {DEEPEST_HIT:,}th")
        if query.is_empty:
            return Matches((), 0)
        snapshot, asking = self._opened()
        wanted, all_words = asking.wanted(query, all_words=True), True
        total = count(snapshot, wanted)
        if not total and len(query.words) + len(query.phrases) > 1:
            wanted, all_words = asking.wanted(query, all_words=False), False
            total = count(snapshot, wanted)
        best = self._folded(wanted, query.offset + query.limit)[query.offset :] if total else []
        return Matches(tuple(self._shown(query, best)), total, all_words)

    def facets(self, query: Query, field: str, at_most: int = 20) -> tuple[Facet, ...]:
        """REQUIRES: field in FACETS. How the pages that match spread over its values; most frequent first."""
        if query.is_empty:
            return ()
        snapshot, asking = self._opened()
        asked = {"facet": {"terms": {"field": field, "size": at_most}}}
        buckets = snapshot.aggregate(asking.wanted(query, all_words=True), asked)["facet"]["buckets"]
        return tuple(Facet(bucket["key"], bucket["doc_count"]) for bucket in buckets)

    def stored(self, url: Url) -> Stored | None:
        """None when the page is not here, or asked not to be indexed."""
        snapshot, asking = self._opened()
        hits = snapshot.search(asking.page(url), limit=1, count=False).hits
        entry = snapshot.doc(hits[0][1]) if hits else None
        if entry is None or (packed := entry.get_first("card")) is None:
            return None
        card = _CARD.decode(bytes(packed))
        text = entry.get_first("content") or ""
        return Stored(card.title, text, card.language, card.types, card.fetched_at, card.description, card.fact_count)

    def cards(self) -> Iterator[Card]:
        """Every page one can find, in no order; for digests and exports."""
        snapshot, _ = self._opened()
        everything = tantivy.Query.all_query()
        for start in range(0, snapshot.num_docs, 1000):
            for _, place in snapshot.search(everything, limit=1000, offset=start, count=False).hits:
                if (packed := snapshot.doc(place).get_first("card")) is not None:
                    yield _CARD.decode(bytes(packed))

    def _opened(self) -> tuple[tantivy.Searcher, Asking]:
        assert self._snapshot is not None and self._asking is not None, "the index is not open"
        return self._snapshot, self._asking

    def _folded(self, wanted: tantivy.Query, enough: int) -> list[tuple[float, tantivy.DocAddress, int]]:
        """The best `enough` pages with different texts: score, place, copy id."""
        snapshot, _ = self._opened()
        deep = enough + 20
        while True:
            hits = snapshot.search(wanted, limit=deep, count=False).hits
            copies = integers(snapshot, "copy_id", [place for _, place in hits])
            best: dict[int, tuple[float, tantivy.DocAddress, int]] = {}
            for number, ((score, place), copy) in enumerate(zip(hits, copies, strict=True)):
                best.setdefault(copy or number + 1, (score, place, copy))
            if len(best) >= enough or len(hits) < deep or deep >= DEEPEST_HIT:
                return list(best.values())[:enough]
            deep *= 4

    def _shown(self, query: Query, best: list[tuple[float, tantivy.DocAddress, int]]) -> Iterator[Found]:
        snapshot, asking = self._opened()
        maker = tantivy.SnippetGenerator.create(snapshot, asking.shown(query), asking.schema, "content")
        maker.set_max_num_chars(LONGEST)
        signs = next((part for part in _wanted_texts(query) if signs_of(part)), "")
        for score, place, copy in best:
            entry = snapshot.doc(place)
            card = _CARD.decode(bytes(entry["card"][0]))
            snippet = () if signs else segments_of(maker.snippet_from_doc(entry))
            if not any(part.is_match for part in snippet):
                snippet = around(entry.get_first("content") or "", signs, card.description)
            yield Found(card, score, snippet, self._copies(copy))

    def _copies(self, copy: int) -> int:
        if not copy:
            return 1
        snapshot, asking = self._opened()
        return count(snapshot, asking.copies(copy))


def _wanted_texts(query: Query) -> list[str]:
    return [*query.words, *(" ".join(words) for words in query.phrases)]
