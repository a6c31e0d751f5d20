"""What is known of one page: its facts, its text, the links from and to it, when it was seen."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, JSONResponse

from gossamer.clock import in_words
from gossamer.errors import QueryRefused
from gossamer.values.url import Url, url_of
from gossamer.web.names import named
from gossamer.web.rooms import WebRooms

MOST_FACTS = 200
MOST_LINKS = 500


class Fact(NamedTuple):
    subject: str
    predicate: str
    property: str
    value: str


def router(rooms: WebRooms, show: Callable[..., HTMLResponse]) -> APIRouter:
    routes = APIRouter()

    @routes.get("/page", response_class=HTMLResponse)
    async def page(url: str = "") -> Response:
        known = await about(rooms, url)
        if known is None:
            words = "No page with that address is in the collection. It may be waiting in the queue, or out of scope."
            return show("missing.html", 404, heading="Not in the collection", words=words)
        return show("page.html", page=known)

    @routes.get("/page.json")
    async def page_json(url: str = "") -> Response:
        known = await about(rooms, url)
        if known is None:
            return JSONResponse({"error": "no page with that address is in the collection"}, 404)
        return JSONResponse(known)

    return routes


async def about(rooms: WebRooms, text: str) -> dict[str, Any] | None:
    url = url_of(text)
    versions = rooms.versions(url) if url is not None else []
    if url is None or not versions:
        return None
    stored = rooms.stored(url)
    facts, as_of = await facts_of(rooms, url)
    incoming, anchors = rooms.about(url)
    return {
        "url": url.text,
        "title": stored.title if stored else "",
        "text": stored.text if stored else "",
        "language": stored.language if stored else "",
        "types": [named(iri)._asdict() for iri in stored.types] if stored else [],
        "facts": [fact._asdict() for fact in facts[:MOST_FACTS]] if facts is not None else None,
        "facts_cut": facts is not None and len(facts) > MOST_FACTS,
        "facts_as_of": as_of,
        "facts_query": facts_query(url),
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


def facts_query(url: Url) -> str:
    return f"SELECT ?thing ?property ?value WHERE {{ GRAPH <{url.text}> {{ ?thing ?property ?value }} }}"


async def facts_of(rooms: WebRooms, url: Url) -> tuple[list[Fact] | None, str]:
    """None when the facts cannot be had just now: no checkpoint yet, or no worker free in time."""
    try:
        result = await rooms.ask(f"{facts_query(url)} LIMIT {MOST_FACTS + 1}", "application/sparql-results+json")
    except QueryRefused:
        return None, ""
    rows = json.loads(result.body)["results"]["bindings"]
    return [_fact(row) for row in rows], in_words(result.as_of)


def _fact(row: dict[str, dict[str, str]]) -> Fact:
    predicate = row["property"]["value"]
    return Fact(row["thing"]["value"], predicate, named(predicate).name, row["value"]["value"])
