"""Results and filters of a search, prepared for the templates, which escape all texts."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote
from zlib import crc32

import msgspec

from gossamer.base.clock import in_words
from gossamer.extract.vocabularies import bundled
from gossamer.search.find import Hit, SearchAnswer
from gossamer.search.query import in_short, parse, text_of, toggled
from gossamer.values.query import Query
from gossamer.views.words.entities import Entity
from gossamer.views.words.facets import Facet, Span
from gossamer.web.names import PREFIXES, ShortName, entity_href, language, named, page_href, short
from gossamer.web.render import number, shortened
from gossamer.web.search.state import DEEPEST, GROUPS, ORDERS, PER_PAGE, FilterGroup, SearchLinks, SearchState

ALWAYS_VISIBLE = 8
"""Values of a group; the rest unfolds."""
DEEPEST_INDENT = 4
LONGEST_LABEL = 60
MOST_SPANS = 12
ENDS = tuple(".!?…。！？»”\"'")
STALE_S = 10.0
"""The index should lag the crawl by 5 s at most; the page warns beyond twice that."""
MOST_ENTITIES = 6
MOST_KINDS = 6


class EntityKind(NamedTuple):
    iri: str
    name: str
    href: str
    """The same search, for entities of this class only."""
    is_inferred: bool = False


class HitView(NamedTuple):
    url: str
    href: str
    """The page view."""
    title: str
    snippet: list[tuple[str, bool]]
    kinds: list[EntityKind]
    anchors: list[str]
    language: str
    fetched: str
    day: str
    moment: str
    fact_count: int
    copies: int
    copies_href: str
    linked_from: int
    why_href: str
    is_withheld: bool
    """The site asks not to show copies."""


class EntityCard(NamedTuple):
    name: str
    types: list[ShortName]
    pages: int
    href: str
    pages_href: str


class Correction(NamedTuple):
    text: str
    href: str


def results_view(search: SearchState, answer: SearchAnswer) -> dict[str, object]:
    """The values of search_found.html."""
    # The total counts copies, which are folded: a page that is not full is the last one.
    links = SearchLinks(search)
    more = len(answer.hits) == PER_PAGE and search.start + PER_PAGE < min(answer.total, DEEPEST)
    return {
        "hits": hits_of(search, answer.hits, links),
        "groups": groups_of(search, answer, links),
        "dates": spans_of(search, answer, links),
        "entities": [entity_card(entity, links) for entity in answer.entities[:MOST_ENTITIES]],
        "correction": correction_of(search, answer.did_you_mean) if answer.did_you_mean else None,
        "orders": [
            (words, links.replacing({"sort": "" if sort == "best" else sort}), sort == search.sort)
            for sort, words in ORDERS.items()
        ],
        "previous": links.replacing({"from": str(max(0, search.start - PER_PAGE) or "")}) if search.start else "",
        "following": links.replacing({"from": str(search.start + PER_PAGE)}) if more else "",
        "took": f"{answer.took_s * 1000:.0f} ms",
    }


def correction_of(search: SearchState, better: str) -> Correction:
    """`better` is the whole query, with the clicked filters, which stay as they are."""
    words = text_of(msgspec.structs.replace(parse(search.words), wanted=parse(better).wanted))
    return Correction(words, search.with_words(words).href)


def carried(search: SearchState, *without: str) -> list[tuple[str, str]]:
    """The hidden fields that keep a form's result as narrow as this one."""
    return [(name, value) for name, value in search.pairs() if name not in ("from", *without)]


def hits_of(search: SearchState, hits: Sequence[Hit], links: SearchLinks) -> list[HitView]:
    chosen = set(search.only.get("type", ()))

    def narrowed(iri: str) -> str:
        return links.replacing({}) if iri in chosen else links.adding("type", iri)

    return [hit_view(hit, kinds_of(hit, chosen, narrowed), links.parameters) for hit in hits]


def hit_view(hit: Hit, kinds: list[EntityKind], parameters: str) -> HitView:
    url = quote(hit.url, errors="replace")
    whole, fetched = url.replace("/", "%2F"), in_words(hit.fetched_at)
    return HitView(
        url=hit.url,
        href=f"/page?url={url}",
        title=hit.title,
        snippet=pieces(hit),
        kinds=kinds,
        anchors=other_names(hit),
        language=hit.language,
        fetched=fetched,
        day=fetched[:10],
        moment=f"{fetched[:10]} {fetched[11:19]} UTC",
        fact_count=hit.fact_count,
        copies=hit.copies - 1,
        copies_href=f"/search/copies?url={whole}",
        linked_from=hit.linked_from,
        why_href=f"/search/why?{parameters}&url={whole}",
        is_withheld=not hit.may_cache,
    )


def other_names(hit: Hit) -> list[str]:
    """Link texts of other sites that are not in the title."""
    title = hit.title.casefold()
    return list(dict.fromkeys(one.text for one in hit.anchors if one.text.casefold() not in title))[:2]


def pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The snippet in pieces; True marks a match. It ends in “…” unless a sentence ends there."""
    found = [(piece.text, piece.is_match) for piece in hit.snippet]
    if found and not found[-1][0].rstrip().endswith(ENDS):
        found.append((" …", False))
    return found


def kinds_of(hit: Hit, chosen: Collection[str], narrowed: Callable[[str], str]) -> list[EntityKind]:
    """One per name, as two vocabularies may both have a Person; of inferred classes only those searched for."""
    by_name: dict[str, EntityKind] = {}
    inferred = [iri for iri in hit.inferred if iri in chosen]
    for iri, is_inferred in [*((iri, True) for iri in inferred), *((iri, False) for iri in hit.types)]:
        name = named(iri).name
        if name not in by_name:
            by_name[name] = EntityKind(iri, name, narrowed(iri), is_inferred)
    return list(by_name.values())[:MOST_KINDS]


def entity_card(entity: Entity, links: SearchLinks) -> EntityCard:
    """An entity without an IRI has no page of its own and links to the page that describes it."""
    href = entity_href(entity.iri) if entity.iri else page_href(entity.page)
    pages_href = links.replacing({"q": f'"{entity.name.replace(chr(34), " ")}"'})
    types = list({named(iri).name: named(iri) for iri in entity.types}.values())[:4]
    return EntityCard(entity.name, types, entity.pages, href, pages_href)


class FacetView(NamedTuple):
    """The loop in search_found.html unpacks the fields in this order."""

    id: str
    """The same in every answer, so that the element keeps the focus."""
    look: str
    """CSS classes: its depth, and whether it is chosen."""
    label: str
    title: str
    """The whole value, if the label is not it."""
    pages: str
    href: str
    """Chooses the value, or removes it."""
    not_href: str
    is_chosen: bool
    is_unwanted: bool
    is_inferred: bool


class FacetGroup(NamedTuple):
    name: str
    heading: str
    first: list[FacetView]
    rest: list[FacetView]


class SpanView(NamedTuple):
    id: str
    label: str
    pages: str
    href: str
    is_chosen: bool


class Chip(NamedTuple):
    heading: str
    label: str
    title: str
    is_not: bool
    href: str


def groups_of(search: SearchState, answer: SearchAnswer, links: SearchLinks) -> list[FacetGroup]:
    """The groups that have values."""
    typed = parse(search.words)
    about = "≈" if answer.counted < answer.total else ""
    return [
        _group(group, facets, partial(_hrefs, search, typed, group, links), about)
        for group in GROUPS
        if (facets := answer.facets.get(group.name))
    ]


def _group(
    group: FilterGroup, facets: Sequence[Facet], hrefs: Callable[[Facet], tuple[str, str]], about: str
) -> FacetGroup:
    labels = labels_of(group, [facet.value for facet in facets])
    placed = as_tree(facets, bundled().superclasses) if group.name == "type" else [(facet, 0) for facet in facets]
    views = [_facet_view(hrefs(facet), group, facet, depth, labels[facet.value], about) for facet, depth in placed]
    visible = len(views) if len(views) <= ALWAYS_VISIBLE + 2 else ALWAYS_VISIBLE
    selected = [one for one in views[visible:] if one.is_chosen or one.is_unwanted]
    rest = [one for one in views[visible:] if one not in selected]
    return FacetGroup(group.name, group.heading, [*selected, *views[:visible]], rest)


def _hrefs(search: SearchState, typed: Query, group: FilterGroup, links: SearchLinks, facet: Facet) -> tuple[str, str]:
    """The links of the value and of its `not`."""
    value, name = facet.value, group.name
    if not (facet.is_chosen or facet.is_excluded):
        return links.adding(name, value), links.adding(f"not_{name}", value)
    without = released(search, typed, group, value)
    return (
        (without if facet.is_chosen else without.with_only(name, value)).href,
        (without if facet.is_excluded else without.with_never(name, value)).href,
    )


def _facet_view(
    hrefs: tuple[str, str], group: FilterGroup, facet: Facet, depth: int, label: str, about: str
) -> FacetView:
    look = f"depth-{min(depth, DEEPEST_INDENT)}"
    return FacetView(
        id=id_of(group.name, facet.value),
        look=f"{look} chosen" if facet.is_chosen else f"{look} unwanted" if facet.is_excluded else look,
        label=shortened(label, LONGEST_LABEL),
        title=facet.value if facet.value != label else "",
        pages=about + number(facet.count),
        href=hrefs[0],
        not_href=hrefs[1],
        is_chosen=facet.is_chosen,
        is_unwanted=facet.is_excluded,
        is_inferred=facet.inferred == facet.count > 0,
    )


@lru_cache(maxsize=4_000)
def id_of(group: str, value: str) -> str:
    return f"f-{group}-{crc32(value.encode('utf-8', 'replace')):08x}"


def released(search: SearchState, typed: Query, group: FilterGroup, value: str) -> SearchState:
    """The same search without this value, clicked or typed, under any of its names."""
    names = {value, named(value).name, short(value)} if group.name in ("type", "property") else {value}
    if group.name == "ontology":
        names.add(bundled().prefix_of(value) or value)
    query = typed
    for name in names:
        search = search.without(group.name, name)
    for is_not, field in ((False, group.field), (True, f"without_{group.field}")):
        for name in names.intersection(getattr(typed, field)):
            query = toggled(query, group.name, name, is_not)
    return search if query == typed else search.with_words(text_of(query))


def labels_of(group: FilterGroup, values: Sequence[str]) -> dict[str, str]:
    """A name shared by terms of two vocabularies gets their prefixes."""
    match group.name:
        case "type":
            names = [named(value).name for value in values]
            return {
                value: short(value) if names.count(name) > 1 else name
                for value, name in zip(values, names, strict=True)
            }
        case "property":
            return {value: short(value) for value in values}
        case "ontology":
            return {value: bundled().prefix_of(value) or PREFIXES.get(value, value) for value in values}
        case "lang":
            return {value: language(value) for value in values}
        case _:
            return {value: value for value in values}


def as_tree(facets: Sequence[Facet], above: Callable[[str], Sequence[str]]) -> list[tuple[Facet, int]]:
    """Each value with its depth, below the nearest wider value present; siblings keep their order.

    A vocabulary may have circles: values that no root leads to come last.
    """
    present = {facet.value for facet in facets}
    below: dict[str, list[Facet]] = {}
    for facet in facets:
        parent = next((iri for iri in above(facet.value) if iri in present and iri != facet.value), "")
        below.setdefault(parent, []).append(facet)
    placed: dict[str, tuple[Facet, int]] = {}

    def descend(parent: str, depth: int) -> None:
        for facet in below.get(parent, ()):
            if facet.value not in placed:
                placed[facet.value] = (facet, depth)
                descend(facet.value, depth + 1)

    descend("", 0)
    return [*placed.values(), *((facet, 0) for facet in facets if facet.value not in placed)]


def spans_of(search: SearchState, answer: SearchAnswer, links: SearchLinks) -> list[SpanView]:
    """Newest first, without those that have no page."""
    about = "≈" if answer.counted < answer.total else ""
    some = islice((span for span in reversed(answer.dates) if span.count), MOST_SPANS)
    return [_span_view(search, span, links, about) for span in some]


def _span_view(search: SearchState, span: Span, links: SearchLinks, about: str) -> SpanView:
    since, until = in_short(span.since), in_short(span.until)
    is_chosen = (search.since, search.until) == (since, until)
    href = links.replacing({"since": "" if is_chosen else since, "until": "" if is_chosen else until})
    return SpanView(f"f-date-{span.label}", span.label, about + number(span.count), href, is_chosen)


def chips_of(search: SearchState) -> list[Chip]:
    """Every filter in use, typed or clicked, each with a link to the same search without it."""
    typed = parse(search.words)
    chips = []
    for group in GROUPS:
        for is_not, clicked, field in (
            (False, search.only, group.field),
            (True, search.never, f"without_{group.field}"),
        ):
            values = dict.fromkeys((*getattr(typed, field), *clicked.get(group.name, ())))
            labels = labels_of(group, list(values))
            for value in values:
                free = search.without(group.name, value)
                if value in getattr(typed, field):
                    free = free.with_words(text_of(toggled(typed, group.name, value, is_not)))
                chips.append(Chip(group.heading, labels[value], value, is_not, free.href))
    dates = (
        ("Fetched from", search.since, search.with_dates("", search.until)),
        ("Fetched before", search.until, search.with_dates(search.since, "")),
    )
    return chips + [Chip(heading, day, day, False, free.href) for heading, day, free in dates if day]
