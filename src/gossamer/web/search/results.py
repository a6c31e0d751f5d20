"""An answer, made fit for people. Its texts come from the web: templates escape them."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from gossamer.base.clock import in_words
from gossamer.search.answer import Entity, Hit, SearchAnswer
from gossamer.search.query import parse, text_of
from gossamer.web.names import ShortName, named
from gossamer.web.search.address import DEEPEST, ORDERS, PER_PAGE, Addresses, SearchAddress
from gossamer.web.search.facets import groups_of, spans_of

ENDS = tuple(".!?…。！？»”\"'")
STALE_S = 10.0
"""Search is promised to be 5 s behind the crawl at most; beyond twice that the page says so."""
MOST_THINGS = 6
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
        "entities": [shown_thing(thing, addresses) for thing in answer.entities[:MOST_THINGS]],
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
