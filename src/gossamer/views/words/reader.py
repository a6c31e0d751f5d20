"""What search, exports and checks ask of the words, whichever form they have."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gossamer.base.clock import Instant
from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.views.words.dictionary import Completion
from gossamer.views.words.entities import Entity
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.schema import Card
from gossamer.views.words.searcher import MatchedPages, SameText, Stored, WordCount


class WordsReader(Protocol):
    """For any number of threads. Real ones: `views.words.searcher.Searcher` on tantivy, and
    `views.words.opensearch.searcher.ServiceSearcher`."""

    def open(self) -> None:
        """Raises DirectoryUnusable if there is no index yet."""

    def reload(self) -> None:
        """See later commits."""

    def close(self) -> None: ...

    def damage_named(self) -> AbstractContextManager[None]:
        """Around everything that reads: names what is damaged."""

    @property
    def pages(self) -> int: ...

    @property
    def position(self) -> bytes:
        """The writer's position in the spool, now; also while it is not open."""

    def held(self, urls: Sequence[Url]) -> dict[int, Instant]:
        """By id, the capture times of the pages that have an entry, with words or without."""

    def find(self, query: Query, count_by: Sequence[str] = ()) -> MatchedPages:
        """The best pages with different texts, and how many match; copies are folded. `count_by` names facets."""

    def matching(self, query: Query) -> int:
        """How many pages have all the words and pass all filters."""

    def entities(self, query: Query) -> list[Entity]: ...

    def completions(self, text: str, at_most: int) -> list[Completion]:
        """Titles, names and words that start with what was typed so far."""

    def corrector(self, query: Query) -> Callable[[str], str]:
        """Corrects a word of the query that no page has, or hardly any."""

    def explain(self, query: Query, url: Url) -> Explanation | None:
        """Why the page ranks where it does; None when it is not in the index."""

    def copies(self, url: Url) -> list[SameText]: ...

    def stored(self, url: Url) -> Stored | None: ...

    def words(self, url: Url) -> list[WordCount]: ...

    def cards(self) -> Iterator[Card]:
        """Every searchable page, in no order."""

    def walked(self, query: Query) -> Iterator[tuple[Card, str]]:
        """Cards and texts of all pages that match; all for an empty query. Copies are not folded."""

    def in_use(self, most: int) -> Mapping[str, Mapping[str, int]]:
        """By kind of trait, how many pages have each value; at most `most` of a kind."""

    @property
    def findable(self) -> int:
        """How many pages are searchable."""

    def unreadable(self, urls: Sequence[Url]) -> list[Url]:
        """Those whose entries have words but no readable card."""
