"""All that is known of one URL, and of one host, gathered for their pages."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.state import TargetState, target_state
from gossamer.collection.why.trail import HostTrail, Section, Trail, host_sections, sections_of
from gossamer.values.capture import Kept
from gossamer.values.format import as_json
from gossamer.values.url import Url, url_of
from gossamer.views.facts.sources import PATH, SPELLING, SYNTAX, graph_name
from gossamer.views.words.searcher import WordCount
from gossamer.web.entities.facts import Row
from gossamer.web.names import named

MOST_FACTS = 200
MOST_LINKS = 500
MOST_SOURCES = 100
PATIENCE_S = 3.0
"""The rest of the page does not wait longer for its facts: every worker may be busy with long queries."""
ALL_FACTS = f"""SELECT ?thing ?property ?value
  (<{SYNTAX}>(<page>, ?thing, ?property, ?value) AS ?syntax) (<{PATH}>(<page>, ?thing, ?property, ?value) AS ?path)
  (<{SPELLING}>(<page>, ?thing, ?property, ?value) AS ?spelling)
WHERE {{ ?thing ?property ?value }}"""


class WhySection(msgspec.Struct, frozen=True):
    heading: str
    lines: tuple[str, ...]


class WhyAnswer(msgspec.Struct, frozen=True):
    """The whole trail of an address: in sentences, and as `gossamer why --json` has it."""

    url: str
    is_known: bool
    state: TargetState
    sections: tuple[WhySection, ...]
    trail: dict[str, Any]


class Promise(msgspec.Struct, frozen=True):
    """What a host was promised, and what it got: seconds from the end of one visit to the start of the next."""

    visits: int
    promised_s: float
    """After the last visit; it may have been less before."""
    least_s: float | None
    mean_s: float | None
    broken: int


class HostWhy(msgspec.Struct, frozen=True):
    name: str
    is_known: bool
    sections: tuple[WhySection, ...]
    promise: Promise | None
    trail: dict[str, Any]


class PageAnchor(msgspec.Struct, frozen=True):
    """Words that pages of one site link here with."""

    text: str
    site: str
    count: int
    is_own_site: bool = False


class PageLink(msgspec.Struct, frozen=True):
    url: str
    text: str
    state: TargetState = "unknown"
    """What became of the address it leads to."""


class PageType(msgspec.Struct, frozen=True):
    iri: str
    name: str


class PageVersion(msgspec.Struct, frozen=True):
    """One capture, and where in the archive it lies."""

    fetched_at: str
    status: int
    media_type: str
    size: int
    volume: str
    offset: int
    is_page: bool = False
    """Whether it can be searched."""
    charset: str = ""
    charset_from: str = ""
    """The encoding its text was read in, and what told it: bom, header, meta, zeros, escapes, utf-8, guess, reader."""


class PageCopy(msgspec.Struct, frozen=True):
    """Another page with the very same text."""

    url: str
    title: str
    site: str


class PageJson(msgspec.Struct, frozen=True):
    url: str
    state: TargetState
    title: str
    description: str
    text: str
    language: str
    types: list[PageType]
    fact_count: int
    graph: str
    facts_query: str
    anchors: list[PageAnchor]
    incoming: int
    sources: list[str]
    """Pages that link here, those of other hosts first; at most 100."""
    outgoing: list[PageLink]
    outgoing_count: int
    versions: list[PageVersion]
    """Newest first."""
    copies: list[PageCopy]
    facts: list[dict[str, dict[str, Any]]] | None
    """Each as in SPARQL 1.1 Query Results JSON; None when they cannot be had just now."""
    facts_cut: bool
    facts_as_of: str | None
    why: WhyAnswer | None
    words: list[WordCount] | None = None
    """Its words and how often each stands in it, when they were asked for."""
    may_cache: bool = True
    """False: the site asks not to show a copy, so there is neither text nor copy."""


def why_of(collection: Collection, url: Url) -> WhyAnswer | None:
    """None while there is no collection."""
    if not collection.directory.is_begun:
        return None
    trail = collection.why(url.text)
    reason = trail.ended.reason if trail.ended is not None else None
    state = target_state(trail.is_known, reason, bool(trail.visits))
    return WhyAnswer(trail.url, trail.is_known, state, _sections(sections_of(trail)), _plain(trail))


def host_of(collection: Collection, name: str) -> HostWhy | None:
    """None while there is no collection. REQUIRES: a host name as a Url has it."""
    collection = collection
    if not collection.directory.is_begun:
        return None
    trail, entry = collection.why_host(f"http://{name}/"), collection.promise(name)
    promise = None
    if entry is not None:
        promise = Promise(entry.visits, entry.gap_s, entry.least_gap_s, entry.mean_gap_s, entry.broken)
    return HostWhy(name, trail.host.is_known, _sections(host_sections(trail)), promise, _plain(trail))


def _sections(sections: Sequence[Section]) -> tuple[WhySection, ...]:
    return tuple([WhySection(heading, tuple(lines)) for heading, lines in sections])


def _plain(trail: Trail | HostTrail) -> dict[str, Any]:
    """As the JSON of `gossamer why` has it."""
    plain: dict[str, Any] = json.loads(as_json(trail))
    return plain


def gathered(collection: Collection, text: str, wants_words: bool = False) -> PageJson | None:
    """All that can be had without asking the graph; None for what is no address. A page whose address is merely
    spelt otherwise than it was fetched is found too."""
    asked = url_of(text.strip())
    if asked is None:
        return None
    why = why_of(collection, asked)
    url = _fetched_as(asked, why, collection)
    versions = collection.versions(url)
    stored = collection.index.stored(url)
    incoming, anchors = collection.index.about(url)
    outgoing = collection.index.outgoing(url)
    states = collection.states([link.url for link in outgoing[:MOST_LINKS]])
    return PageJson(
        url=url.text,
        state=why.state if why is not None else "captured" if versions else "unknown",
        title=stored.title if stored else "",
        description=stored.description if stored else "",
        text=stored.text if stored and stored.may_cache else "",
        language=stored.language if stored else "",
        types=[PageType(*named(iri)[:2]) for iri in stored.types] if stored else [],
        fact_count=stored.fact_count if stored else 0,
        graph=graph_name(url),
        facts_query="SELECT ?thing ?property ?value\n"
        f"WHERE {{ GRAPH <{graph_name(url)}> {{ ?thing ?property ?value }} }}",
        anchors=[PageAnchor(one.text, one.site, one.count, one.is_own_site) for one in anchors],
        incoming=incoming.count,
        sources=[source.text for source in incoming.sources[:MOST_SOURCES]],
        outgoing=[PageLink(link.url.text, link.text, state) for link, state in zip(outgoing, states, strict=False)],
        outgoing_count=len(outgoing),
        versions=[version_of(kept) for kept in versions],
        copies=[PageCopy(one.url, one.title, one.site) for one in collection.index.copies(url) if one.url != url.text],
        facts=[],
        facts_cut=False,
        facts_as_of=None,
        why=why,
        words=list(collection.index.words(url)) if wants_words else None,
        may_cache=stored is None or stored.may_cache,
    )


def _fetched_as(url: Url, why: WhyAnswer | None, collection: Collection) -> Url:
    """The spelling under which it is fetched: without what does not select content, or as it was met first."""
    if why is None or collection.versions(url):
        return url
    return Url(why.trail.get("known_as") or why.url)


def version_of(kept: Kept) -> PageVersion:
    place = kept.place
    return PageVersion(
        fetched_at=in_words(kept.fetched_at),
        status=kept.status,
        media_type=kept.media_type,
        size=kept.size,
        volume=place.volume,
        offset=place.offset,
        is_page=kept.is_page,
        charset=kept.charset,
        charset_from=kept.charset_from,
    )


def chosen(versions: Sequence[Kept], at: Instant | None) -> Kept | None:
    """The version of a moment: the newest that is not younger. Without one, the newest that can be searched."""
    if at is None:
        return next((kept for kept in versions if kept.is_page), versions[0] if versions else None)
    return next((kept for kept in versions if kept.fetched_at <= at), None)


def instant_of(text: str) -> Instant | None:
    """RFC 3339 text, or nothing. Raises ValueError on anything else."""
    if not text.strip():
        return None
    try:
        return from_words(text.strip())
    except (OverflowError, OSError) as trouble:
        raise ValueError(text) from trouble


async def with_facts(collection: Collection, known: PageJson) -> PageJson:
    """The same with what the page states, or with None for that: no checkpoint holds it yet, or no worker is free."""
    if not known.fact_count:
        return known
    try:
        async with asyncio.timeout(PATIENCE_S):
            query = ALL_FACTS.replace("<page>", f"<{known.graph}>")
            result = await collection.ask(query, "json", default_graphs=(known.graph,), most_rows=MOST_FACTS + 1)
    except (QueryRefused, TimeoutError):
        return msgspec.structs.replace(known, facts=None)
    rows: list[Row] = json.loads(result.body)["results"]["bindings"]
    return msgspec.structs.replace(
        known,
        facts=[dict(row) for row in rows[:MOST_FACTS]],
        facts_cut=len(rows) > MOST_FACTS,
        facts_as_of=in_words(result.as_of),
    )
