"""How the pages that match spread over types, ontologies, properties, sites, languages, syntaxes and dates."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

import msgspec
import tantivy

from gossamer.clock import SECOND, Instant
from gossamer.index.filters import EARLIEST, GROUPS
from gossamer.index.ontology import means, namespaces_of
from gossamer.index.snapshot import Snapshot
from gossamer.values.query import Query

FACETS = (*GROUPS, "date")
"""What one can count by."""
MOST_VALUES = 20
MOST_COUNTED, SAMPLE = 5_000, 2_500
"""Of more pages than that, about so many are counted, and the counts are estimates: to count a hundred thousand would
hold up everybody for what nobody reads to the last digit."""
_FIELDS = {
    "type": ("types", "supertypes"),
    "ontology": ("ontologies",),
    "property": ("properties",),
    "site": ("host",),
    "lang": ("language",),
    "syntax": ("syntaxes",),
}
_DAY = 86_400 * SECOND
_DAYS_SHOWN, _MONTHS_SHOWN = 62, 60
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(1900, 1, 1).toordinal() - _EPOCH, date(2999, 1, 1).toordinal() - _EPOCH


class Facet(msgspec.Struct, frozen=True, gc=False):
    """One value of a filter."""

    value: str
    """As the filter takes it: an IRI, a host, a language tag, the name of a syntax."""
    count: int
    """Pages, those it only follows for included."""
    inferred: int = 0
    """How many of them do not state it themselves: it follows from what they state. Types only."""
    is_chosen: bool = False
    """The query asks for it."""
    is_excluded: bool = False
    """The query asks for anything but."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Pages fetched at or after `since` and before `until`."""

    since: Instant
    until: Instant
    label: str
    """"2026-11-15", "2026-11" or "2026"."""
    count: int


class Counts(msgspec.Struct, frozen=True):
    facets: dict[str, tuple[Facet, ...]] = {}
    dates: tuple[Span, ...] = ()
    counted: int = 0
    """Pages that were looked at; where that is fewer than there are, every count is an estimate."""


def counted(
    snapshot: Snapshot,
    query: Query,
    names: Iterable[str],
    pages_without: Callable[[str], tantivy.Query],
    total: int,
    most: int = MOST_COUNTED,
    sample: int = SAMPLE,
) -> Counts:
    """REQUIRES: names in FACETS. `pages_without(group)` finds what matches without the filters of that group;
    `pages_without("")` finds the `total` pages that match.

    Groups without filters of their own are counted in one go.
    """
    names = [name for name in FACETS if name in set(names)]
    together = [name for name in names if not _is_filtered(query, name)]
    share = 1 if total <= most else -(-total // sample)
    raw: dict[str, Any] = {}
    for group, some in [("", together), *((name, [name]) for name in names if name not in together)]:
        if some:
            asked = {k: v for name in some for k, v in _asked(name).items()}
            raw |= snapshot.aggregate(_sample(snapshot, pages_without(group), share), asked)
    if share > 1:
        _scale(raw, share)
    facets = {name: _facets(query, name, raw) for name in names if name != "date"}
    dates = _spans(raw["date"]["buckets"]) if "date" in names else ()
    return Counts(facets, dates, total // share)


def _sample(snapshot: Snapshot, pages: tantivy.Query, share: int) -> tantivy.Query:
    """One page in `share` of those. The ids of pages are hashes: a range of them is as good as drawing lots, and the
    same pages are drawn whatever is asked, so that two answers can be compared."""
    if share == 1:
        return pages
    last = EARLIEST + (1 << 64) // share - 1
    some = tantivy.Query.range_query(snapshot.schema, "url_id", tantivy.FieldType.Integer, EARLIEST, last)
    clauses = [(tantivy.Occur.Must, pages), (tantivy.Occur.Must, tantivy.Query.const_score_query(some, 0.0))]
    return tantivy.Query.boolean_query(clauses)


def _scale(raw: dict[str, Any], share: int) -> None:
    for told in raw.values():
        for bucket in told["buckets"]:
            bucket["doc_count"] = estimated(share * int(bucket["doc_count"]))


def estimated(pages: int) -> int:
    """To two digits: more would promise what a sample cannot keep."""
    unit = int(10 ** max(0, len(str(pages)) - 2))
    return (pages + unit // 2) // unit * unit


def _is_filtered(query: Query, name: str) -> bool:
    if name == "date":
        return query.since is not None or query.until is not None
    return bool(getattr(query, GROUPS[name]))


def _asked(name: str) -> dict[str, Any]:
    if name == "date":
        return {"date": {"histogram": {"field": "fetched_at", "interval": _DAY, "min_doc_count": 1}}}
    size = 5 * MOST_VALUES if name == "type" else MOST_VALUES
    return {field: {"terms": {"field": field, "size": size}} for field in _FIELDS[name]}


def _facets(query: Query, name: str, raw: dict[str, Any]) -> tuple[Facet, ...]:
    """The most frequent, and whatever the query names."""
    stated, *others = ({one["key"]: one["doc_count"] for one in raw[field]["buckets"]} for field in _FIELDS[name])
    inferred: dict[str, int] = others[0] if others else {}
    total = Counter(stated)
    total.update(inferred)
    chosen: Sequence[str] = getattr(query, GROUPS[name])
    excluded: Sequence[str] = getattr(query, f"without_{GROUPS[name]}")
    ranked = sorted(total.items(), key=lambda one: (-one[1], one[0]))
    found = [
        Facet(value, pages, inferred.get(value, 0), _is_named(name, chosen, value), _is_named(name, excluded, value))
        for value, pages in ranked
    ]
    kept = [facet for at, facet in enumerate(found) if at < MOST_VALUES or facet.is_chosen or facet.is_excluded]
    return (*kept, *_missing(name, kept, chosen, excluded))


def _missing(name: str, found: list[Facet], chosen: Sequence[str], excluded: Sequence[str]) -> list[Facet]:
    """What the query names and no page has."""
    named = [(value, True) for value in chosen] + [(value, False) for value in excluded]
    return [
        Facet(value, 0, is_chosen=is_chosen, is_excluded=not is_chosen)
        for value, is_chosen in named
        if not any(_is_named(name, (value,), facet.value) for facet in found)
    ]


def _is_named(name: str, values: Sequence[str], found: str) -> bool:
    if name in ("type", "property"):
        return any(means(value, found) for value in values)
    if name == "ontology":
        return any(found in namespaces_of(value) for value in values)
    return found in values


def _spans(buckets: list[dict[str, Any]]) -> tuple[Span, ...]:
    """Days, folded into months and years when there are too many to show."""
    days = [(_day(bucket["key"]), int(bucket["doc_count"])) for bucket in buckets]
    if not days:
        return ()
    first, last = min(days)[0], max(days)[0]
    step = _next_day if (last - first).days < _DAYS_SHOWN else _next_month
    if step is _next_month and (last.year - first.year) * 12 + last.month - first.month >= _MONTHS_SHOWN:
        step = _next_year
    start = {_next_day: first, _next_month: first.replace(day=1), _next_year: first.replace(month=1, day=1)}[step]
    length = {_next_day: 10, _next_month: 7, _next_year: 4}[step]
    per_label = Counter[str]()
    for day, pages in days:
        per_label[_label(day, length)] += pages
    spans = []
    while start <= last:
        until = step(start)
        label = _label(start, length)
        spans.append(Span(_instant(start), _instant(until), label, per_label[label]))
        start = until
    return tuple(spans)


@lru_cache(maxsize=10_000)
def _label(day: date, length: int) -> str:
    return day.isoformat()[:length]


@lru_cache(maxsize=10_000)
def _day(at: float) -> date:
    """Clamped: an imported page may claim any instant."""
    days = min(max(int(at) // _DAY, _FIRST), _LAST)
    return date.fromordinal(_EPOCH + days)


def _instant(day: date) -> Instant:
    return (day.toordinal() - _EPOCH) * _DAY


def _next_day(day: date) -> date:
    return day + timedelta(days=1)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _next_year(day: date) -> date:
    return day.replace(year=day.year + 1, month=1, day=1)
