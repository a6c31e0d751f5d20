"""An answer made fit for people: results, and the filters beside them. Templates escape these texts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote
from zlib import crc32

import msgspec

from gossamer.base.clock import Instant, in_words
from gossamer.extract.vocabularies import bundled
from gossamer.search.find import Hit, SearchAnswer
from gossamer.search.query import parse, text_of, toggled
from gossamer.values.query import Query
from gossamer.views.words.entities import Entity
from gossamer.views.words.facets import Facet, Span
from gossamer.web.names import PREFIXES, ShortName, language, named, short
from gossamer.web.render import number, shortened
from gossamer.web.search.address import DEEPEST, GROUPS, ORDERS, PER_PAGE, Addresses, FilterGroup, SearchAddress

SHOWN = 8
"""Values of a group that are always in sight; the rest unfolds."""
DEEPEST_SHOWN = 4
LONGEST_LABEL = 60
MOST_SPANS = 12


ENDS = tuple(".!?…。！？»”\"'")
STALE_S = 10.0
"""Search is promised to be 5 s behind the crawl at most; beyond twice that the page says so."""
MOST_ENTITIES = 6
MOST_KINDS = 6


class EntityKind(NamedTuple):
    iri: str
    name: str
    href: str
    """The same question, for things of this kind only."""
    is_inferred: bool = False


class ShownHit(NamedTuple):
    url: str
    href: str
    """Of the view of the page."""
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
    """The site asks not to show a copy."""


class ShownThing(NamedTuple):
    name: str
    types: list[ShortName]
    pages: int
    href: str
    pages_href: str


class SortOrder(NamedTuple):
    words: str
    href: str
    is_chosen: bool


class Meant(NamedTuple):
    text: str
    href: str


def shown_answer(asked: SearchAddress, answer: SearchAnswer) -> dict[str, object]:
    """The values of search_found.html."""
    # The total counts copies, which are folded: a page that is not full is the last one.
    addresses = Addresses(asked)
    more = len(answer.hits) == PER_PAGE and asked.start + PER_PAGE < min(answer.total, DEEPEST)
    return {
        "hits": shown_hits(asked, answer.hits, addresses),
        "groups": groups_of(asked, answer, addresses),
        "dates": spans_of(asked, answer, addresses),
        "entities": [shown_thing(thing, addresses) for thing in answer.entities[:MOST_ENTITIES]],
        "meant": meant_by(asked, answer.did_you_mean) if answer.did_you_mean else None,
        "orders": [
            SortOrder(words, addresses.instead({"sort": "" if sort == "best" else sort}), sort == asked.sort)
            for sort, words in ORDERS.items()
        ],
        "previous": _page_from(addresses, max(0, asked.start - PER_PAGE)) if asked.start else "",
        "following": _page_from(addresses, asked.start + PER_PAGE) if more else "",
        "took": f"{answer.took_s * 1000:.0f} ms",
    }


def _page_from(addresses: Addresses, start: int) -> str:
    return addresses.instead({"from": str(start) if start else ""})


def meant_by(asked: SearchAddress, better: str) -> Meant:
    """`better` is the whole question, clicked filters included; those stay where they are."""
    words = text_of(msgspec.structs.replace(parse(asked.words), wanted=parse(better).wanted))
    return Meant(words, asked.saying(words).href)


def carried(asked: SearchAddress, *without: str) -> list[tuple[str, str]]:
    """What a form must send along so that its answer stays as narrow as this one."""
    return [(name, value) for name, value in asked.pairs() if name not in ("from", *without)]


def plain(asked: SearchAddress) -> str:
    """The same words without the filters beside them."""
    return SearchAddress(words=asked.words, sort=asked.sort).href


def shown_hits(asked: SearchAddress, hits: Sequence[Hit], addresses: Addresses) -> list[ShownHit]:
    chosen = set(asked.only.get("type", ()))

    def narrowed(iri: str) -> str:
        return addresses.instead({}) if iri in chosen else addresses.adding("type", iri)

    return [shown_hit(hit, kinds_of(hit, chosen, narrowed), addresses.parameters) for hit in hits]


def shown_hit(hit: Hit, kinds: list[EntityKind], question: str) -> ShownHit:
    address = quote(hit.url, errors="replace")
    whole, fetched = address.replace("/", "%2F"), in_words(hit.fetched_at)
    return ShownHit(
        url=hit.url,
        href=f"/page?url={address}",
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
        why_href=f"/search/why?{question}&url={whole}",
        is_withheld=not hit.may_cache,
    )


def other_names(hit: Hit) -> list[str]:
    """What other sites call it and its title does not."""
    title = hit.title.casefold()
    return list(dict.fromkeys(one.text for one in hit.anchors if one.text.casefold() not in title))[:2]


def pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The snippet; it breaks off somewhere, and then says so."""
    shown = [(piece.text, piece.is_match) for piece in hit.snippet]
    if shown and not shown[-1][0].rstrip().endswith(ENDS):
        shown.append((" …", False))
    return shown


def kinds_of(hit: Hit, chosen: Collection[str], narrowed: Callable[[str], str]) -> list[EntityKind]:
    """One a name: two vocabularies may both have a Person. Of the inferred ones, those that were asked for."""
    by_name: dict[str, EntityKind] = {}
    inferred = [iri for iri in hit.inferred if iri in chosen]
    for iri, is_inferred in [*((iri, True) for iri in inferred), *((iri, False) for iri in hit.types)]:
        name = named(iri).name
        if name not in by_name:
            by_name[name] = EntityKind(iri, name, narrowed(iri), is_inferred)
    return list(by_name.values())[:MOST_KINDS]


def shown_thing(thing: Entity, addresses: Addresses) -> ShownThing:
    """A thing without an IRI has no page of its own: the page that speaks of it stands for it."""
    href = f"/entity?iri={quote(thing.iri, safe='')}" if thing.iri else f"/page?url={quote(thing.page, safe='')}"
    pages_href = addresses.instead({"q": f'"{thing.name.replace(chr(34), " ")}"'})
    return ShownThing(thing.name, unique(thing.types), thing.pages, href, pages_href)


def unique(iris: Sequence[str]) -> list[ShortName]:
    return list({named(iri).name: named(iri) for iri in iris}.values())[:4]


class ShownFacet(NamedTuple):
    """Its fields are named by the loop of the template, in this order."""

    id: str
    """Stays the same while the answer changes, so that the focus does too."""
    look: str
    """The classes of its element: how deep it stands, and whether it is chosen."""
    label: str
    title: str
    """What it stands for, where the label does not say it."""
    pages: str
    href: str
    """Chooses it, or lets go of it."""
    not_href: str
    is_chosen: bool
    is_unwanted: bool
    is_inferred: bool


class ShownGroup(NamedTuple):
    name: str
    heading: str
    first: list[ShownFacet]
    rest: list[ShownFacet]


class ShownSpan(NamedTuple):
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


def groups_of(asked: SearchAddress, answer: SearchAnswer, addresses: Addresses) -> list[ShownGroup]:
    """Those with something to choose."""
    typed = parse(asked.words)
    found = [(group, _in_order(group, answer.facets.get(group.name, ()))) for group in GROUPS]
    about = "≈" if answer.counted < answer.total else ""
    return [_group(asked, typed, group, values, addresses, about) for group, values in found if values]


def _group(
    asked: SearchAddress,
    typed: Query,
    group: FilterGroup,
    values: Sequence[tuple[Facet, int]],
    addresses: Addresses,
    about: str,
) -> ShownGroup:
    labels = labels_of(group, [facet.value for facet, _ in values])
    shown = [
        _shown(*_turns(asked, typed, group, facet, addresses), group, facet, depth, labels[facet.value], about)
        for facet, depth in values
    ]
    in_sight = len(shown) if len(shown) <= SHOWN + 2 else SHOWN
    chosen_below = [one for one in shown[in_sight:] if one.is_chosen or one.is_unwanted]
    rest = [one for one in shown[in_sight:] if one not in chosen_below]
    return ShownGroup(group.name, group.heading, [*chosen_below, *shown[:in_sight]], rest)


def _turns(
    asked: SearchAddress, typed: Query, group: FilterGroup, facet: Facet, addresses: Addresses
) -> tuple[str, str]:
    """Where a click on the value leads, and one on its `not`."""
    value, name = facet.value, group.name
    if not (facet.is_chosen or facet.is_excluded):
        return addresses.adding(name, value), addresses.adding(f"not_{name}", value)
    let_go = released(asked, typed, group, value)
    return (
        (let_go if facet.is_chosen else let_go.with_only(name, value)).href,
        (let_go if facet.is_excluded else let_go.with_never(name, value)).href,
    )


def _shown(
    href: str, not_href: str, group: FilterGroup, facet: Facet, depth: int, label: str, about: str
) -> ShownFacet:
    look = f"depth-{min(depth, DEEPEST_SHOWN)}"
    return ShownFacet(
        id=id_of(group.name, facet.value),
        look=f"{look} chosen" if facet.is_chosen else f"{look} unwanted" if facet.is_excluded else look,
        label=shortened(label, LONGEST_LABEL),
        title=facet.value if facet.value != label else "",
        pages=about + number(facet.count),
        href=href,
        not_href=not_href,
        is_chosen=facet.is_chosen,
        is_unwanted=facet.is_excluded,
        is_inferred=facet.inferred == facet.count > 0,
    )


@lru_cache(maxsize=4_000)
def id_of(group: str, value: str) -> str:
    return f"f-{group}-{crc32(value.encode('utf-8', 'replace')):08x}"


def released(asked: SearchAddress, typed: Query, group: FilterGroup, value: str) -> SearchAddress:
    """The same question without this value, clicked or typed, by whichever of its names."""
    names = {value, named(value).name, short(value)} if group.name in ("type", "property") else {value}
    if group.name == "ontology":
        names.add(bundled().prefix_of(value) or value)
    freed = asked
    for name in names:
        freed = freed.without(group.name, name)
    mended = typed
    for is_unwanted, field in ((False, group.field), (True, f"without_{group.field}")):
        for name in names.intersection(getattr(typed, field)):
            mended = toggled(mended, group.name, name, is_unwanted)
    return freed if mended == typed else freed.saying(text_of(mended))


def labels_of(group: FilterGroup, values: Sequence[str]) -> dict[str, str]:
    """One name may stand for terms of two vocabularies; then each is told with its prefix."""
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


def _in_order(group: FilterGroup, facets: Sequence[Facet]) -> list[tuple[Facet, int]]:
    if group.name == "type":
        return as_tree(facets, bundled().superclasses)
    return [(facet, 0) for facet in facets]


def as_tree(facets: Sequence[Facet], above: Callable[[str], Sequence[str]]) -> list[tuple[Facet, int]]:
    """Each value with its depth, below the nearest wider one that is there; the order of siblings is kept.

    A vocabulary may go in circles: what no root leads to is told at the end.
    """
    present = {facet.value for facet in facets}
    below: dict[str, list[Facet]] = {}
    for facet in facets:
        parent = next((iri for iri in above(facet.value) if iri in present and iri != facet.value), "")
        below.setdefault(parent, []).append(facet)
    told: dict[str, tuple[Facet, int]] = {}
    _descend(below, "", 0, told)
    return [*told.values(), *((facet, 0) for facet in facets if facet.value not in told)]


def _descend(below: Mapping[str, list[Facet]], parent: str, depth: int, told: dict[str, tuple[Facet, int]]) -> None:
    for facet in below.get(parent, ()):
        if facet.value not in told:
            told[facet.value] = (facet, depth)
            _descend(below, facet.value, depth + 1, told)


def spans_of(asked: SearchAddress, answer: SearchAnswer, addresses: Addresses) -> list[ShownSpan]:
    """Newest first; those without a page are left out."""
    about = "≈" if answer.counted < answer.total else ""
    some = islice((span for span in reversed(answer.dates) if span.count), MOST_SPANS)
    return [_span(asked, span, addresses, about) for span in some]


def _span(asked: SearchAddress, span: Span, addresses: Addresses, about: str) -> ShownSpan:
    since, until = in_short(span.since), in_short(span.until)
    is_chosen = (asked.since, asked.until) == (since, until)
    href = addresses.instead({"since": "" if is_chosen else since, "until": "" if is_chosen else until})
    return ShownSpan(f"f-date-{span.label}", span.label, about + number(span.count), href, is_chosen)


def in_short(at: Instant) -> str:
    """As a day where it is the beginning of one."""
    return in_words(at).removesuffix("T00:00:00.000000Z")


def chips_of(asked: SearchAddress) -> list[Chip]:
    """Every filter in use, typed or clicked, each with the address of the same question without it."""
    typed = parse(asked.words)
    chips = []
    for group in GROUPS:
        for is_not, clicked, field in (
            (False, asked.only, group.field),
            (True, asked.never, f"without_{group.field}"),
        ):
            values = dict.fromkeys((*getattr(typed, field), *clicked.get(group.name, ())))
            labels = labels_of(group, list(values))
            for value in values:
                free = asked.without(group.name, value)
                if value in getattr(typed, field):
                    free = free.saying(text_of(toggled(typed, group.name, value, is_not)))
                chips.append(Chip(group.heading, labels[value], value, is_not, free.href))
    return chips + _date_chips(asked)


def _date_chips(asked: SearchAddress) -> list[Chip]:
    chips = []
    if asked.since:
        chips.append(Chip("Fetched from", asked.since, asked.since, False, asked.between("", asked.until).href))
    if asked.until:
        chips.append(Chip("Fetched before", asked.until, asked.until, False, asked.between(asked.since, "").href))
    return chips
