"""The state of a search and its URL: every click on the search page is a link to another state.

The words in `q` may contain filters (`type:Person`). Filters chosen by a click are separate parameters (`type=IRI`,
`not_type=IRI`), so that each can be removed by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Meta

from gossamer.base.clock import Instant
from gossamer.base.errors import QueryRefused
from gossamer.search.query import GROUPS as FIELDS
from gossamer.search.query import LONGEST_QUERY, SHORTEST_PREFIX, moment_named, parse, text_of
from gossamer.search.query import Group as GroupName
from gossamer.values.query import Query, Sort

PER_PAGE = 10
DEEPEST = 1000
MOST_FILTERS = 40
"""Of all kinds together, clicked or typed, because every link on the page contains them all."""
LONGEST_FILTERS = 8_192
"""Characters of all of them."""
MOST_VALUES = 20
"""Clicked values of one filter; MOST_FILTERS also counts the typed ones."""
LONGEST_VALUE = 2_048
LONGEST_DAY = 40


class FilterGroup(NamedTuple):
    """One kind of filter: its parameter, its heading on the page, and its field in a Query."""

    name: GroupName
    heading: str
    field: str


GROUPS = (
    FilterGroup("type", "Type", FIELDS["type"]),
    FilterGroup("ontology", "Vocabulary", FIELDS["ontology"]),
    FilterGroup("property", "Property", FIELDS["property"]),
    FilterGroup("site", "Site", FIELDS["site"]),
    FilterGroup("lang", "Language", FIELDS["lang"]),
    FilterGroup("syntax", "Syntax", FIELDS["syntax"]),
)
_FILTERS = (name for group in GROUPS for name in (group.name, f"not_{group.name}"))
RANK = {name: rank for rank, name in enumerate(("q", *_FILTERS, "since", "until", "sort", "from"))}
"""The order of the parameters in a URL."""
_by_rank = itemgetter(0)
ORDERS: dict[Sort, str] = {"best": "Best first", "newest": "Newest first", "oldest": "Oldest first"}


@lru_cache(maxsize=10_000)
def quoted(value: str) -> str:
    """As a value in a URL. Cached: page after page offers the same types, properties and sites."""
    return quote_plus(value, errors="replace")


@dataclass(frozen=True, slots=True)
class SearchState:
    """REQUIRES: the names in `only` and `never` are those of GROUPS."""

    words: str = ""
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    never: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: str = ""
    until: str = ""
    sort: Sort = "best"
    start: int = 0

    @property
    def is_empty(self) -> bool:
        filters = (*self.only.values(), *self.never.values(), self.since, self.until)
        return not self.words.strip() and not any(filters)

    def pairs(self) -> list[tuple[str, str]]:
        """Parameters in a fixed order and without defaults, so that equal searches have equal URLs."""
        filters = [
            (name, value)
            for group in GROUPS
            for name, chosen in ((group.name, self.only), (f"not_{group.name}", self.never))
            for value in chosen.get(group.name, ())
        ]
        sort, start = "" if self.sort == "best" else self.sort, str(self.start or "")
        rest = (("since", self.since), ("until", self.until), ("sort", sort), ("from", start))
        return [pair for pair in (("q", self.words), *filters, *rest) if pair[1]]

    @property
    def parameters(self) -> str:
        return urlencode(self.pairs(), errors="replace")

    @property
    def href(self) -> str:
        return f"/?{self.parameters}"

    def with_dates(self, since: str, until: str) -> "SearchState":
        return replace(self, since=since, until=until, start=0)

    def with_words(self, words: str) -> "SearchState":
        return replace(self, words=words, start=0)

    def with_only(self, name: str, value: str) -> "SearchState":
        """The value is wanted, and no longer excluded."""
        free = self.without(name, value)
        return replace(free, only={**free.only, name: (*free.only[name], value)})

    def with_never(self, name: str, value: str) -> "SearchState":
        free = self.without(name, value)
        return replace(free, never={**free.never, name: (*free.never[name], value)})

    def without(self, name: str, value: str) -> "SearchState":
        """The value is neither wanted nor excluded."""
        only = {**self.only, name: tuple(one for one in self.only.get(name, ()) if one != value)}
        never = {**self.never, name: tuple(one for one in self.never.get(name, ()) if one != value)}
        return replace(self, only=only, never=never, start=0)


class SearchLinks:
    """Links to states that differ a little from one state and start at the first result.

    A page has more than a hundred of them, so the text they share is built once.
    """

    def __init__(self, search: SearchState) -> None:
        pairs = [(name, value) for name, value in search.pairs() if name != "from"]
        self._pieces = [(RANK[name], name, f"{name}={quoted(value)}") for name, value in pairs]
        self._ends: dict[str, tuple[str, str]] = {}
        self.parameters = "&".join([text for _, _, text in self._pieces])

    def adding(self, name: str, value: str) -> str:
        """With one more filter, as `with_only` and `with_never` do. REQUIRES: the value is in neither yet."""
        ends = self._ends.get(name)
        if ends is None:
            head = "".join([f"{text}&" for rank, _, text in self._pieces if rank <= RANK[name]])
            tail = "".join([f"&{text}" for rank, _, text in self._pieces if rank > RANK[name]])
            ends = self._ends[name] = (f"/?{head}{name}=", tail)
        return f"{ends[0]}{quoted(value)}{ends[1]}"

    def replacing(self, values: Mapping[str, str]) -> str:
        """With new values for these parameters; an empty value removes one."""
        pieces = [piece for piece in self._pieces if piece[1] not in values]
        pieces += [(RANK[name], name, f"{name}={quoted(value)}") for name, value in values.items() if value]
        pieces.sort(key=_by_rank)
        return "/?" + "&".join([text for _, _, text in pieces])


Value = Annotated[str, Meta(max_length=LONGEST_VALUE)]
Values = Annotated[tuple[Value, ...], Meta(max_length=MOST_VALUES)]
Day = Annotated[str, Meta(max_length=LONGEST_DAY, description="A date, 2026-11-15, or an RFC 3339 time.")]


class SearchParameters(msgspec.Struct, frozen=True):
    """Shared by the search page, its JSON and its CSV."""

    q: str = ""
    type: Values = ()
    not_type: Values = ()
    ontology: Values = ()
    not_ontology: Values = ()
    property: Values = ()
    not_property: Values = ()
    site: Values = ()
    not_site: Values = ()
    lang: Values = ()
    not_lang: Values = ()
    syntax: Values = ()
    not_syntax: Values = ()
    since: Day = ""
    until: Day = ""
    sort: Sort = "best"
    start: Annotated[int, Meta(ge=0, le=DEEPEST)] = msgspec.field(name="from", default=0)

    def state(self) -> SearchState:
        only: dict[str, tuple[str, ...]] = {group.name: getattr(self, group.name) for group in GROUPS}
        never: dict[str, tuple[str, ...]] = {group.name: getattr(self, f"not_{group.name}") for group in GROUPS}
        return search_state(self.q, only, never, self.since, self.until, self.sort, self.start)


def search_state(
    words: str,
    only: Mapping[str, Sequence[str]],
    never: Mapping[str, Sequence[str]],
    since: str = "",
    until: str = "",
    sort: Sort = "best",
    start: int = 0,
) -> SearchState:
    """Removes the empty values that forms send and duplicates; each group of filters gets an entry."""
    return SearchState(words, _each_once(only), _each_once(never), since.strip(), until.strip(), sort, start)


def _each_once(chosen: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {
        group.name: tuple(dict.fromkeys(filter(None, values))) if (values := chosen.get(group.name)) else ()
        for group in GROUPS
    }


def query_of(search: SearchState, limit: int = PER_PAGE) -> Query:
    """Typed and clicked values of one filter are alternatives. Raises QueryRefused, in words."""
    typed = parse(search.words, offset=search.start, limit=limit)
    more: dict[str, Any] = {}
    given: list[str] = []
    for group in GROUPS:
        for values, name in ((search.only, group.field), (search.never, f"without_{group.field}")):
            more[name] = tuple(dict.fromkeys((*getattr(typed, name), *values.get(group.name, ()))))
            given += more[name]
    if len(given) > MOST_FILTERS or sum(map(len, given)) > LONGEST_FILTERS:
        raise QueryRefused(
            f"a search may have at most {MOST_FILTERS} filters of {LONGEST_FILTERS:,} characters together; "
            f"this one has {len(given)}. Remove some"
        )
    if search.since:
        more["since"] = day(search.since)
    if search.until:
        more["until"] = day(search.until)
    if search.sort != "best":
        more["sort"] = search.sort
    return msgspec.structs.replace(typed, **more)


def with_prefix(search: SearchState) -> SearchState | None:
    """The last word becomes a prefix: `harb` becomes `harb*`. None if it cannot be one."""
    typed = parse(search.words)
    last = typed.wanted[-1] if typed.wanted else None
    if last is None or len(last.text) != 1 or len(last.text[0]) < SHORTEST_PREFIX or last.is_exact or last.is_fuzzy:
        return None
    prefix = msgspec.structs.replace(last, is_prefix=True)
    words = text_of(msgspec.structs.replace(typed, wanted=(*typed.wanted[:-1], prefix)))
    return None if last.is_prefix or len(words) > LONGEST_QUERY else search.with_words(words)


def day(text: str) -> Instant:
    """The first instant of the day, month or year named, or the instant itself."""
    at = moment_named(text)
    if at is None:
        raise QueryRefused(f"“{text[:40]}” is not a date; write one as 2026-11-15")
    return at
