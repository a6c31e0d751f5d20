"""What a search asks for, as an address: every state of the search page is a URL, and every click is a link to one.

The words in `q` may hold filters too (`type:Person`); those chosen by a click stand beside it as parameters of their
own (`type=IRI`, `not_type=IRI`), so that each can be taken away by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, NamedTuple
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Meta

from gossamer.base.clock import Instant, from_words
from gossamer.base.errors import QueryRefused
from gossamer.search.query import GROUPS as FIELDS
from gossamer.search.query import LONGEST_QUERY, SHORTEST_PREFIX, parse, text_of
from gossamer.search.query import Group as GroupName
from gossamer.values.query import Query, Sort

PER_PAGE = 10
DEEPEST = 1000
MOST_FILTERS = 40
"""Of all kinds together, clicked or typed: every link on the page carries them all."""
LONGEST_FILTERS = 8_192
"""Characters of all of them."""
MOST_VALUES = 20
"""Of one filter; MOST_FILTERS counts those typed among the words too."""
LONGEST_VALUE = 2_048
LONGEST_DAY = 40


class FilterGroup(NamedTuple):
    """One kind of filter: its parameter, what people call it, and its field in a Query."""

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
"""The order of the parameters in an address."""
_by_rank = itemgetter(0)
ORDERS: dict[Sort, str] = {"best": "Best first", "newest": "Newest first", "oldest": "Oldest first"}


@lru_cache(maxsize=10_000)
def quoted(value: str) -> str:
    """As a value in an address. The same types, properties and sites are offered on page after page."""
    return quote_plus(value, errors="replace")


@dataclass(frozen=True, slots=True)
class SearchAddress:
    """REQUIRES: the names in `only` and `never` are those of GROUPS."""

    words: str = ""
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    never: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: str = ""
    until: str = ""
    sort: Sort = "best"
    start: int = 0

    @property
    def is_narrowed(self) -> bool:
        return bool(any(self.only.values()) or any(self.never.values()) or self.since or self.until)

    @property
    def is_empty(self) -> bool:
        return not self.words.strip() and not self.is_narrowed

    def pairs(self) -> list[tuple[str, str]]:
        """As parameters, in one order, without what is as always: the same question has one address."""
        told = [("q", self.words)] if self.words else []
        for group in GROUPS:
            told += [(group.name, value) for value in self.only.get(group.name, ())]
            told += [(f"not_{group.name}", value) for value in self.never.get(group.name, ())]
        told += [(name, value) for name, value in (("since", self.since), ("until", self.until)) if value]
        if self.sort != "best":
            told.append(("sort", self.sort))
        return [*told, ("from", str(self.start))] if self.start else told

    @property
    def parameters(self) -> str:
        return urlencode(self.pairs(), errors="replace")

    @property
    def href(self) -> str:
        return f"/?{self.parameters}"

    def at(self, start: int) -> "SearchAddress":
        return replace(self, start=start)

    def between(self, since: str, until: str) -> "SearchAddress":
        return replace(self, since=since, until=until, start=0)

    def saying(self, words: str) -> "SearchAddress":
        return replace(self, words=words, start=0)

    def with_only(self, name: str, value: str) -> "SearchAddress":
        """Of this kind too; it is then no longer unwanted."""
        free = self.without(name, value)
        return replace(free, only={**free.only, name: (*free.only[name], value)})

    def with_never(self, name: str, value: str) -> "SearchAddress":
        free = self.without(name, value)
        return replace(free, never={**free.never, name: (*free.never[name], value)})

    def without(self, name: str, value: str) -> "SearchAddress":
        """Neither wanted nor unwanted."""
        only = {**self.only, name: tuple(one for one in self.only.get(name, ()) if one != value)}
        never = {**self.never, name: tuple(one for one in self.never.get(name, ()) if one != value)}
        return replace(self, only=only, never=never, start=0)


class Addresses:
    """Where the links of one page lead: the same question, a little different, from its beginning. There are a hundred
    and more of them; what they share is written once."""

    def __init__(self, asked: SearchAddress) -> None:
        pairs = [(name, value) for name, value in asked.pairs() if name != "from"]
        self._pieces = [(RANK[name], name, f"{name}={quoted(value)}") for name, value in pairs]
        self._ends: dict[str, tuple[str, str]] = {}
        self.parameters = "&".join([text for _, _, text in self._pieces])

    def adding(self, name: str, value: str) -> str:
        """With one filter more, as `with_only` and `with_never` write it. REQUIRES: the value is neither chosen nor
        excluded yet."""
        ends = self._ends.get(name)
        if ends is None:
            head = "".join([f"{text}&" for rank, _, text in self._pieces if rank <= RANK[name]])
            tail = "".join([f"&{text}" for rank, _, text in self._pieces if rank > RANK[name]])
            ends = self._ends[name] = (f"/?{head}{name}=", tail)
        return f"{ends[0]}{quoted(value)}{ends[1]}"

    def instead(self, values: Mapping[str, str]) -> str:
        """With these parameters in the place of what they were; an empty one is left out."""
        pieces = [piece for piece in self._pieces if piece[1] not in values]
        pieces += [(RANK[name], name, f"{name}={quoted(value)}") for name, value in values.items() if value]
        pieces.sort(key=_by_rank)
        return "/?" + "&".join([text for _, _, text in pieces])


Value = Annotated[str, Meta(max_length=LONGEST_VALUE)]
Values = Annotated[tuple[Value, ...], Meta(max_length=MOST_VALUES)]
Day = Annotated[str, Meta(max_length=LONGEST_DAY, description="A date, 2026-11-15, or an RFC 3339 time.")]


class SearchParameters(msgspec.Struct, frozen=True):
    """The same for the page of a search, its JSON and its CSV."""

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

    def address(self) -> SearchAddress:
        names = [group.name for group in GROUPS]
        only: dict[str, tuple[str, ...]] = {name: getattr(self, name) for name in names}
        never: dict[str, tuple[str, ...]] = {name: getattr(self, f"not_{name}") for name in names}
        return asked_of(self.q, only, never, self.since, self.until, self.sort, self.start)


def asked_of(
    words: str,
    only: Mapping[str, Sequence[str]],
    never: Mapping[str, Sequence[str]],
    since: str = "",
    until: str = "",
    sort: Sort = "best",
    start: int = 0,
) -> SearchAddress:
    """Without the empty values that forms send, each value once, and a place for every filter."""
    return SearchAddress(words, _each_once(only), _each_once(never), since.strip(), until.strip(), sort, start)


def _each_once(chosen: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {
        group.name: tuple(dict.fromkeys(filter(None, values))) if (values := chosen.get(group.name)) else ()
        for group in GROUPS
    }


def query_of(asked: SearchAddress, limit: int = PER_PAGE) -> Query:
    """Raises QueryRefused, in words. Of one filter any value will do, typed or clicked."""
    typed = parse(asked.words, offset=asked.start, limit=limit)
    more: dict[str, object] = {}
    for group in GROUPS:
        for values, name in ((asked.only, group.field), (asked.never, f"without_{group.field}")):
            if chosen := values.get(group.name, ()):
                more[name] = tuple(dict.fromkeys((*getattr(typed, name), *chosen)))
    fields = [name for group in GROUPS for name in (group.field, f"without_{group.field}")]
    query = msgspec.structs.replace(typed, **more)
    given = [value for name in fields for value in getattr(query, name)]
    if len(given) > MOST_FILTERS or sum(map(len, given)) > LONGEST_FILTERS:
        raise QueryRefused(
            f"a search may have at most {MOST_FILTERS} filters of {LONGEST_FILTERS:,} characters together; "
            f"this one has {len(given)}. Remove some"
        )
    if asked.since:
        more["since"] = day(asked.since)
    if asked.until:
        more["until"] = day(asked.until)
    if asked.sort != "best":
        more["sort"] = asked.sort
    return msgspec.structs.replace(typed, **more)


def with_open_end(asked: SearchAddress) -> SearchAddress | None:
    """The same, the last word only a beginning; None when it cannot be one."""
    typed = parse(asked.words)
    last = typed.wanted[-1] if typed.wanted else None
    if last is None or len(last.text) != 1 or len(last.text[0]) < SHORTEST_PREFIX or last.is_exact or last.is_fuzzy:
        return None
    begun = msgspec.structs.replace(last, is_prefix=True)
    words = text_of(msgspec.structs.replace(typed, wanted=(*typed.wanted[:-1], begun)))
    return None if last.is_prefix or len(words) > LONGEST_QUERY else asked.saying(words)


def day(text: str) -> Instant:
    """The first instant of the day, month or year named, or the instant itself."""
    whole = {4: text + "-01-01", 7: text + "-01"}.get(len(text), text)
    try:
        return from_words(whole)
    except (ValueError, OverflowError):
        raise QueryRefused(f"“{text[:40]}” is not a date; write one as 2026-11-15") from None
