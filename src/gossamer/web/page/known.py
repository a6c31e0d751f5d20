"""Everything known about one URL, and about one host."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.errors import QueryRefused
from gossamer.collection.collection import Collection
from gossamer.collection.state import TargetState, target_state
from gossamer.collection.why.trail import HostTrail, Section, Trail, host_sections, sections_of
from gossamer.store.service import ServiceLost
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
"""The page waits no longer for its facts: all workers may be busy with long queries."""
ALL_FACTS = f"""SELECT ?thing ?property ?value
  (<{SYNTAX}>(<page>, ?thing, ?property, ?value) AS ?syntax) (<{PATH}>(<page>, ?thing, ?property, ?value) AS ?path)
  (<{SPELLING}>(<page>, ?thing, ?property, ?value) AS ?spelling)
WHERE {{ ?thing ?property ?value }}"""


class WhySection(msgspec.Struct, frozen=True):
    heading: str
    lines: tuple[str, ...]


class WhyAnswer(msgspec.Struct, frozen=True):
    """The history of a URL in sentences, and as `gossamer why --json` prints it."""

    url: str
    is_known: bool
    state: TargetState
    sections: tuple[WhySection, ...]
    trail: dict[str, Any]


class Promise(msgspec.Struct, frozen=True):
    """The gaps between fetches from a host, promised and kept: seconds from the end of one to the start of the next."""

    visits: int
    promised_s: float
    """Since the last fetch; it may have been shorter before."""
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
    """Link text that pages of one site use for this page."""

    text: str
    site: str
    count: int
    is_own_site: bool = False


class PageLink(msgspec.Struct, frozen=True):
    url: str
    text: str
    state: TargetState = "unknown"
    """The state of the target."""


class PageType(msgspec.Struct, frozen=True):
    iri: str
    name: str


class PageVersion(msgspec.Struct, frozen=True):
    """One capture, and its place in the archive."""

    fetched_at: str
    status: int
    media_type: str
    size: int
    volume: str
    offset: int
    is_page: bool = False
    """Whether it is searchable."""
    charset: str = ""
    charset_from: str = ""
    """The encoding of the text, and its source: bom, header, meta, zeros, escapes, utf-8, guess, reader."""


class PageCopy(msgspec.Struct, frozen=True):
    """Another page with exactly the same text."""

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
    """Rows of SPARQL 1.1 Query Results JSON; None if they are not available right now."""
    facts_cut: bool
    facts_as_of: str | None
    why: WhyAnswer | None
    words: list[WordCount] | None = None
    """Its words and how often each occurs, if requested."""
    may_cache: bool = True
    """False: the site asks not to show copies, so there is neither text nor copy."""

    @property
    def is_known(self) -> bool:
        return bool(self.versions) or (self.why is not None and self.why.is_known)


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
    return cast(dict[str, Any], json.loads(as_json(trail)))


def gathered(collection: Collection, text: str, wants_words: bool = False) -> PageJson | None:
    """Everything but the facts; None for an invalid URL. Another spelling of a fetched URL is recognised."""
    url = url_of(text.strip())
    if url is None:
        return None
    why, versions = why_of(collection, url), collection.versions(url)
    if why is not None and not versions:  # it was fetched without irrelevant parameters, or as first seen
        url = Url(why.trail.get("known_as") or why.url)
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


def version_of(kept: Kept) -> PageVersion:
    return PageVersion(
        fetched_at=in_words(kept.fetched_at),
        status=kept.status,
        media_type=kept.media_type,
        size=kept.size,
        volume=kept.place.volume,
        offset=kept.place.offset,
        is_page=kept.is_page,
        charset=kept.charset,
        charset_from=kept.charset_from,
    )


def chosen(versions: Sequence[Kept], at: Instant | None) -> Kept | None:
    """The newest version not after `at`; without a time, the newest searchable version."""
    if at is None:
        return next((kept for kept in versions if kept.is_page), versions[0] if versions else None)
    return next((kept for kept in versions if kept.fetched_at <= at), None)


def instant_of(text: str) -> Instant | None:
    """None for empty text. Raises ValueError on anything but RFC 3339."""
    if not text.strip():
        return None
    try:
        return from_words(text.strip())
    except (OverflowError, OSError) as trouble:
        raise ValueError(text) from trouble


async def with_facts(collection: Collection, known: PageJson) -> PageJson:
    """With the facts the page states; with None if no checkpoint has them yet, or no worker is free."""
    if not known.fact_count:
        return known
    try:
        async with asyncio.timeout(PATIENCE_S):
            query = ALL_FACTS.replace("<page>", f"<{known.graph}>")
            result = await collection.ask(query, "json", default_graphs=(known.graph,), most_rows=MOST_FACTS + 1)
    except (QueryRefused, ServiceLost, TimeoutError):
        return msgspec.structs.replace(known, facts=None)
    rows: list[Row] = json.loads(result.body)["results"]["bindings"]
    return msgspec.structs.replace(
        known,
        facts=[dict(row) for row in rows[:MOST_FACTS]],
        facts_cut=len(rows) > MOST_FACTS,
        facts_as_of=in_words(result.as_of),
    )
