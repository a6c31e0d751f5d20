"""What is known of one page: its facts, its text, the links from and to it, when it was seen."""

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse

from gossamer.clock import Instant, in_words
from gossamer.errors import QueryRefused
from gossamer.graph.names import PATH, SYNTAX, graph_name
from gossamer.index.searcher import Stored
from gossamer.values.url import Url, url_of
from gossamer.web.facts import pages_in
from gossamer.web.faults import fault
from gossamer.web.names import named
from gossamer.web.rooms import WebRooms
from gossamer.web.showing import Show
from gossamer.web.things import Row, things_of

MOST_FACTS = 200
MOST_LINKS = 500
PATIENCE_S = 3.0
"""The rest of the page does not wait longer for its facts: every worker may be busy with long queries."""
ALL_FACTS = f"""SELECT ?thing ?property ?value
  (<{SYNTAX}>(<page>, ?thing, ?property, ?value) AS ?syntax) (<{PATH}>(<page>, ?thing, ?property, ?value) AS ?path)
WHERE {{ ?thing ?property ?value }}"""
NO_ADDRESS = "Which page? Put its address after /page?url= or come from the results of a search."
UNKNOWN = (
    "No page with that address is in the collection. It may still be waiting, lie outside the scope of the crawl, "
    "or be kept out by the site's robots.txt. Adding it: gossamer crawl with that address and this collection's --dir."
)


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get("/page", response_class=HTMLResponse)
    async def page(request: Request, url: str = "") -> Response:
        known = await about(rooms, url)
        if known is None:
            return missing(request, show, url)
        return await run_in_threadpool(lambda: show("page.html", page=known, things=things(rooms, known)))

    @routes.get("/page.json")
    async def page_json(request: Request, url: str = "") -> Response:
        known = await about(rooms, url)
        return missing(request, show, url) if known is None else JSONResponse(known)

    return routes


def missing(request: Request, show: Show, text: str) -> Response:
    if not text.strip():
        return fault(request, show, 400, NO_ADDRESS)
    return fault(request, show, 404, UNKNOWN)


def things(rooms: WebRooms, known: dict[str, Any]) -> list[Any]:
    rows = known["facts"] or []
    return things_of(rows, known["graph"], pages_in(rooms, rows))


async def about(rooms: WebRooms, text: str) -> dict[str, Any] | None:
    url = url_of(text.strip())
    if url is None:
        return None
    known, stored = await run_in_threadpool(gathered, rooms, url)
    if known is None:
        return None
    facts, as_of = await facts_of(rooms, url, stored)
    return known | {
        "facts": facts[:MOST_FACTS] if facts is not None else None,
        "facts_cut": facts is not None and len(facts) > MOST_FACTS,
        "facts_as_of": in_words(as_of) if as_of is not None else None,
    }


def gathered(rooms: WebRooms, url: Url) -> tuple[dict[str, Any] | None, Stored | None]:
    """All that can be had without asking the graph."""
    versions = rooms.versions(url)
    if not versions:
        return None, None
    stored = rooms.stored(url)
    incoming, anchors = rooms.about(url)
    known = {
        "url": url.text,
        "title": stored.title if stored else "",
        "description": stored.description if stored else "",
        "text": stored.text if stored else "",
        "language": stored.language if stored else "",
        "types": [named(iri)._asdict() for iri in stored.types] if stored else [],
        "graph": graph_name(url),
        "facts_query": f"SELECT ?thing ?property ?value\nWHERE {{ GRAPH <{graph_name(url)}> "
        "{ ?thing ?property ?value } }",
        "anchors": [{"text": a.text, "site": a.site, "count": a.count} for a in anchors],
        "incoming": incoming.count,
        "outgoing": [{"url": link.url.text, "text": link.text} for link in rooms.outgoing(url)[:MOST_LINKS]],
        "versions": [
            {
                "fetched_at": in_words(kept.fetched_at),
                "status": kept.status,
                "media_type": kept.media_type,
                "size": kept.size,
                "volume": kept.place.volume,
                "offset": kept.place.offset,
            }
            for kept in versions
        ],
    }
    return known, stored


async def facts_of(rooms: WebRooms, url: Url, stored: Stored | None) -> tuple[list[Row] | None, Instant | None]:
    """None when they cannot be had just now: no checkpoint holds them yet, or no worker is free in time."""
    if stored is None or not stored.fact_count:
        return [], None
    try:
        async with asyncio.timeout(PATIENCE_S):
            graph = graph_name(url)
            query = ALL_FACTS.replace("<page>", f"<{graph}>")
            result = await rooms.ask(query, "json", default_graphs=(graph,), most_rows=MOST_FACTS + 1)
    except (QueryRefused, TimeoutError):
        return None, None
    rows: list[Row] = json.loads(result.body)["results"]["bindings"]
    return rows, result.as_of
