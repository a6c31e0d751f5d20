"""The SPARQL endpoint, and the page where people ask it."""

import asyncio
import json
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from gossamer.clock import in_words
from gossamer.errors import QueryRefused, QueryTooLong
from gossamer.graph.results import JSON, ROWS, TRIPLES, media_type_for
from gossamer.graph.sparql import MOST_ROWS, SparqlResult
from gossamer.values.url import Url, url_of
from gossamer.web.examples import EXAMPLES
from gossamer.web.faults import fault
from gossamer.web.protocol import LONGEST_BODY, Asked, Declined, from_address, from_body
from gossamer.web.rooms import WebRooms
from gossamer.web.showing import Show
from gossamer.web.terms import term_of

HTML = "text/html"
KINDS = ("json", "xml", "csv", "tsv", "ttl", "nt")
MOST_SHOWN = 1000
"""Rows on a page; the whole answer is there as a file."""
NO_QUERY = "Send a SPARQL query in the parameter “query”, or open /sparql in a browser and type one."

T = TypeVar("T")


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sparql")
    async def ask(request: Request) -> Response:
        asked = from_address(request.query_params.multi_items())
        return await answer(rooms, show, request, asked, request.headers.get("accept", "*/*"))

    @routes.post("/sparql")
    async def post(request: Request) -> Response:
        body = await bounded_body(request)
        if body is None:
            return fault(request, show, 413, f"A query may be at most {LONGEST_BODY:,} bytes long.")
        given = request.headers.get("content-type", "")
        asked = from_body(given, body, request.query_params.multi_items())
        return await answer(rooms, show, request, asked, request.headers.get("accept", "*/*"))

    @routes.get("/sparql.{kind}")
    async def as_file(request: Request, kind: str) -> Response:
        if kind not in KINDS:
            return fault(request, show, 404, f"Answers come as {', '.join(KINDS)}.")
        return await answer(rooms, show, request, from_address(request.query_params.multi_items()), kind)

    return routes


async def bounded_body(request: Request) -> bytes | None:
    """None when it is longer than any query may be; it is then not read to its end."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > LONGEST_BODY:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def answer(rooms: WebRooms, show: Show, request: Request, asked: Asked | Declined, accept: str) -> Response:
    if isinstance(asked, Declined):
        return fault(request, show, asked.status, asked.words)
    if media_type_for(accept, (*ROWS, *TRIPLES, HTML)) == HTML:
        return await console(rooms, show, request, asked)
    if not asked.query.strip():
        return fault(request, show, 400, NO_QUERY)
    try:
        asking = rooms.ask(asked.query, accept, asked.default_graphs, asked.named_graphs)
        result = await unless_left(request, asking)
    except QueryRefused as trouble:
        return fault(request, show, status_of(trouble), str(trouble))
    headers = {"X-Gossamer-As-Of": in_words(result.as_of), "Vary": "Accept"}
    if result.truncated:
        headers["X-Gossamer-Truncated"] = "yes"
    return Response(result.body, media_type=result.media_type, headers=headers)


def status_of(trouble: QueryRefused) -> int:
    return 503 if isinstance(trouble, QueryTooLong) else 400


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The work's result. A query whose asker has gone is dropped, and its worker freed (FAULTS W12)."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise QueryTooLong("The asker has gone.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def console(rooms: WebRooms, show: Show, request: Request, asked: Asked) -> Response:
    values: dict[str, object] = {
        "query": asked.query,
        "address": request.url.query,
        "examples": EXAMPLES,
        "most_rows": MOST_ROWS,
        "limit_s": rooms.sparql_s,
        "error": "",
        "table": None,
        "text": "",
        "is_cut": False,
        "as_of": None,
        "kinds": (),
    }
    if not asked.query.strip():
        return await run_in_threadpool(show, "sparql.html", **values | {"query": EXAMPLES[0].query})
    try:
        asking = rooms.ask(asked.query, JSON, asked.default_graphs, asked.named_graphs, MOST_SHOWN)
        result = await unless_left(request, asking)
    except QueryRefused as trouble:
        return await run_in_threadpool(show, "sparql.html", status_of(trouble), **values | {"error": str(trouble)})
    values |= {"as_of": result.as_of, "is_cut": result.truncated}
    return await run_in_threadpool(lambda: show("sparql.html", **values | laid_out(rooms, result)))


def laid_out(rooms: WebRooms, result: SparqlResult) -> dict[str, object]:
    if result.media_type != JSON:
        return {"text": result.body.decode("utf-8", "replace"), "kinds": ("ttl", "nt")}
    found: dict[str, Any] = json.loads(result.body)
    if "boolean" in found:
        return {"text": "Yes." if found["boolean"] else "No.", "kinds": ("json", "xml")}
    names, bindings = found["head"]["vars"], found["results"]["bindings"]
    pages = pages_in(rooms, bindings)
    rows = [[term_of(row.get(name, {}), pages) for name in names] for row in bindings]
    return {"table": {"names": names, "rows": rows}, "kinds": ("json", "xml", "csv", "tsv")}


def pages_in(rooms: WebRooms, bindings: Sequence[Any]) -> set[str]:
    """The IRIs in an answer that are addresses of pages we hold."""
    iris = {cell["value"] for row in bindings for cell in row.values() if cell["type"] == "uri"}
    urls: dict[Url, str] = {}
    for iri in iris:
        if "#" not in iri and (url := url_of(iri)) is not None:
            urls[url] = iri
    return {urls[url] for url in rooms.pages_among(urls)}
