"""Facets: counts of matching pages by type, ontology, property, site, language, syntax and date."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

import msgspec
import tantivy

from gossamer.base.clock import SECOND, Instant
from gossamer.extract.vocabularies import Vocabularies
from gossamer.values.query import Query
from gossamer.views.words.filters import EARLIEST, GROUPS, own_superclasses
from gossamer.views.words.query import having
from gossamer.views.words.schema import TRAITS, Snapshot, card_at, count, means, namespaces_of

FACETS = (*GROUPS, "date")
"""What pages can be counted by."""
MOST_VALUES = 20
MOST_TRAITS = 500
"""The most frequent values listed for one query, of all kinds but sites and dates."""
MOST_COUNTED, SAMPLE = 2_000, 1_000
"""With more pages than MOST_COUNTED, about SAMPLE of them are counted and the counts are estimates: counting a hundred
thousand would delay every user for digits that no one reads."""
TRIED = 5
"""Pages of a host that are tried for its name: more than one, in case an entry is damaged."""
MOST_OWN = 50
"""Classes of the user's own vocabulary that are counted: each costs one more query."""
KINDS = {group: (kind,) for group, kind in GROUPS.items()} | {"type": ("types", "supertypes")}
"""By facet: the kinds of traits it counts (or "sites"), and those it infers."""
KIND_OF = {letter: kind for kind, letter in TRAITS.items()}
DAY = 86_400 * SECOND
_DAYS_SHOWN, _MONTHS_SHOWN = 62, 60
_MOST_LABELS = 10_000
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(1900, 1, 1).toordinal() - _EPOCH, date(2999, 1, 1).toordinal() - _EPOCH


class Facet(msgspec.Struct, frozen=True, gc=False):
    """One value of a filter."""

    value: str
    """As the filter accepts it: an IRI, a host, a language tag, a syntax."""
    count: int
    """Pages, including those where it is only inferred."""
    inferred: int = 0
    """How many of them do not state it: it follows from what they state. Types only."""
    is_chosen: bool = False
    """The query filters by it."""
    is_excluded: bool = False
    """The query excludes it."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Pages fetched at or after `since` and before `until`."""

    since: Instant
    until: Instant
    label: str
    """"2026-11-15", "2026-11" or "2026"."""
    count: int


class FacetCounts(msgspec.Struct, frozen=True):
    facets: dict[str, tuple[Facet, ...]] = {}
    dates: tuple[Span, ...] = ()
    counted: int = 0
    """Pages in the sample; where that is fewer than match, every count is an estimate."""


def counted(
    snapshot: Snapshot,
    query: Query,
    names: Iterable[str],
    pages_without: Callable[[str], tantivy.Query],
    total: int,
    most: int = MOST_COUNTED,
    sample: int = SAMPLE,
) -> FacetCounts:
    """REQUIRES: names in FACETS. `pages_without(group)` matches without the filters of that group; `pages_without("")`
    matches all `total` pages.

    Groups without filters of their own are counted in one query.
    """
    names = [name for name in FACETS if name in set(names)]
    together = [name for name in names if not is_filtered(query, name)]
    share = 1 if total <= most else -(-total // sample)
    facets: dict[str, tuple[Facet, ...]] = {}
    dates: tuple[Span, ...] = ()
    for group, some in [("", together), *((name, [name]) for name in names if name not in together)]:
        if some:
            pages = pages_without(group)
            result = snapshot.aggregate(_sample(snapshot, pages, share), _asked(some))
            tallies = _tallies(snapshot, result)
            having_it = partial(_having, snapshot, pages)
            counts = GroupCounts(query, tallies, share, snapshot.known, having_it)
            facets |= {name: counts.facets(name) for name in some if name != "date"}
            if "date" in some:
                dates = spans(result["date"]["buckets"], share)
    return FacetCounts({name: facets[name] for name in names if name != "date"}, dates, total // share)


def in_use(snapshot: Snapshot, most: int) -> dict[str, dict[str, int]]:
    """By kind (of TRAITS), how many pages have each value; at most `most` values of a kind."""
    asked = {"traits": {"terms": {"field": "traits", "size": len(TRAITS) * most}}}
    tallies = _tallies(snapshot, snapshot.aggregate(tantivy.Query.all_query(), asked))
    return {kind: dict(list(values.items())[:most]) for kind, values in tallies.items()}


def findable(snapshot: Snapshot) -> int:
    """How many pages are searchable: entries except those of pages that are gone or ask not to be indexed."""
    result = snapshot.aggregate(tantivy.Query.all_query(), {"pages": {"value_count": {"field": "host_id"}}})
    return int(result["pages"]["value"])


def _sample(snapshot: Snapshot, pages: tantivy.Query, share: int) -> tantivy.Query:
    """One page in `share`. Page ids are hashes, so a range of them is a random sample, and the same for every query, so
    that answers are comparable."""
    if share == 1:
        return pages
    last = EARLIEST + (1 << 64) // share - 1
    some = tantivy.Query.range_query(snapshot.schema, "url_id", tantivy.FieldType.Integer, EARLIEST, last)
    clauses = [(tantivy.Occur.Must, pages), (tantivy.Occur.Must, tantivy.Query.const_score_query(some, 0.0))]
    return tantivy.Query.boolean_query(clauses)


def _scaled(pages: int, share: int) -> int:
    return pages if share == 1 else estimated(share * pages)


def estimated(pages: int) -> int:
    """Rounded to two digits: a sample supports no more."""
    if pages < 100:
        return pages
    unit = int(10 ** (len(str(pages)) - 2))
    return (pages + unit // 2) // unit * unit


def is_filtered(query: Query, name: str) -> bool:
    if name == "date":
        return query.since is not None or query.until is not None
    return bool(getattr(query, GROUPS[name]))


def _asked(names: Sequence[str]) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    if any(name not in ("site", "date") for name in names):
        asked["traits"] = {"terms": {"field": "traits", "size": MOST_TRAITS}}
    if "site" in names:
        asked["sites"] = {"terms": {"field": "host_id", "size": MOST_VALUES}}
    if "date" in names:
        asked["date"] = {"histogram": {"field": "fetched_at", "interval": DAY, "min_doc_count": 1}}
    return asked


def _tallies(snapshot: Snapshot, result: dict[str, Any]) -> dict[str, dict[str, int]]:
    """By kind, the pages of each value."""
    tallies: dict[str, dict[str, int]] = {kind: {} for kind in (*TRAITS, "sites")}
    for bucket in result["traits"]["buckets"] if "traits" in result else ():
        trait: str = bucket["key"]
        tallies[KIND_OF[trait[0]]][trait[1:]] = int(bucket["doc_count"])
    for bucket in result["sites"]["buckets"] if "sites" in result else ():
        if host := _host(snapshot, bucket["key"]):
            tallies["sites"][host] = int(bucket["doc_count"])
    return tallies


def _host(snapshot: Snapshot, host_id: int) -> str:
    """Its name, from any of its pages; empty when none of the first can be read."""

    def find() -> str:
        cards = (card_at(snapshot, place) for _, place in snapshot.best(snapshot.term("host_id", host_id), TRIED))
        return next((card.url.host.name for card in cards if card is not None), "")

    name: str = snapshot.recall_lasting(("host", host_id), find)
    return name


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counts of the values of some filters, by kind, and what it takes to make facets of them."""

    query: Query
    tallies: dict[str, dict[str, int]]
    share: int
    """One page in so many was counted."""
    known: Vocabularies
    having: Callable[[str, str], int]
    """How many of all matching pages pass a filter with a value."""

    def facets(self, name: str) -> tuple[Facet, ...]:
        """The most frequent values of a filter, and those the query names."""
        stated, *others = [self.tallies[kind] for kind in KINDS[name]]
        inferred: dict[str, int] = others[0] if others else {}
        if name == "type":
            inferred = inferred | self._inferred_by_own(stated, inferred)
        total = {value: stated.get(value, 0) + inferred.get(value, 0) for value in (*stated, *inferred)}
        chosen: Sequence[str] = getattr(self.query, GROUPS[name])
        excluded: Sequence[str] = getattr(self.query, f"without_{GROUPS[name]}")
        ranked = sorted(total.items(), key=lambda one: (-one[1], one[0]))
        found = [
            Facet(
                value,
                _scaled(having_it, self.share),
                _scaled(inferred.get(value, 0), self.share),
                _is_named(name, chosen, value),
                _is_named(name, excluded, value),
            )
            for value, having_it in (ranked if chosen or excluded else ranked[:MOST_VALUES])
        ]
        kept = [facet for at, facet in enumerate(found) if at < MOST_VALUES or facet.is_chosen or facet.is_excluded]
        rare = [Facet(value, self.having(name, value), is_chosen=True) for value in _unlisted(name, kept, chosen)]
        return (*kept, *rare, *(Facet(value, 0, is_excluded=True) for value in _unlisted(name, kept, excluded)))

    def _inferred_by_own(self, stated: dict[str, int], inferred: dict[str, int]) -> dict[str, int]:
        """Pages of superclasses in the user's own vocabulary; scaled to the sample."""
        own = own_superclasses(self.known)[:MOST_OWN]
        counts = {iri: self.having("type", iri) // self.share for iri in own}
        found = {iri: having_it - stated.get(iri, 0) for iri, having_it in counts.items()}
        return {iri: more for iri, more in found.items() if more > inferred.get(iri, 0)}


def _unlisted(name: str, found: list[Facet], values: Sequence[str]) -> list[str]:
    return [value for value in values if not any(_is_named(name, (value,), facet.value) for facet in found)]


def _having(snapshot: Snapshot, pages: tantivy.Query, name: str, value: str) -> int:
    """Count a chosen value that the sample lacks or that is too rare to be listed."""
    both = [(tantivy.Occur.Must, pages), (tantivy.Occur.Must, having(snapshot, name, value))]
    return count(snapshot.searcher, tantivy.Query.boolean_query(both))


def _is_named(name: str, values: Sequence[str], found: str) -> bool:
    if name in ("type", "property"):
        return any(means(value, found) for value in values)
    if name == "ontology":
        return any(found in namespaces_of(value) for value in values)
    return found in values


def spans(buckets: list[dict[str, Any]], share: int) -> tuple[Span, ...]:
    """Days, grouped into months or years when there are too many to show. REQUIRES: buckets in order."""
    if not buckets:
        return ()
    first, last = _date(_day(buckets[0]["key"])), _date(_day(buckets[-1]["key"]))
    length = 10
    if (last - first).days >= _DAYS_SHOWN:
        length = 7 if (last.year - first.year) * 12 + last.month - first.month < _MONTHS_SHOWN else 4
    pages: Counter[str] = Counter()
    labels = _LABELS[length]
    for bucket in buckets:
        pages[labels.get(bucket["key"]) or _label(bucket["key"], length)] += bucket["doc_count"]
    spans = []
    start = date.fromisoformat(f"{first.isoformat()[:length]}-01-01"[:10])
    while start <= last:
        label, until = start.isoformat()[:length], _next(start, length)
        spans.append(Span(_instant(start), _instant(until), label, _scaled(pages[label], share)))
        start = until
    return tuple(spans)


_LABELS: dict[int, dict[float, str]] = {10: {}, 7: {}, 4: {}}
"""By length (of a day, month or year), cached: the same days occur in every query."""


def _label(at: float, length: int) -> str:
    labels = _LABELS[length]
    if len(labels) > _MOST_LABELS:
        labels.clear()
    label = labels[at] = _date(_day(at)).isoformat()[:length]
    return label


def _day(at: float) -> int:
    """Since 1970, clamped: an imported page may claim any date."""
    return min(max(int(at) // DAY, _FIRST), _LAST)


def _date(day: int) -> date:
    return date.fromordinal(_EPOCH + day)


def _instant(day: date) -> Instant:
    return (day.toordinal() - _EPOCH) * DAY


def _next(start: date, length: int) -> date:
    """When the day, month or year with a label of this length is over."""
    if length == 10:
        return start + timedelta(days=1)
    return (start + timedelta(days=32 if length == 7 else 366)).replace(day=1)
