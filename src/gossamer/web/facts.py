"""The SPARQL console and the endpoint behind it (SPARQL 1.1 Protocol, query only)."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from gossamer.clock import in_words
from gossamer.errors import QueryRefused, QueryTooLong
from gossamer.graph.sparql import MOST_ROWS, SparqlResult
from gossamer.web.rooms import WebRooms

LONGEST_BODY = 1 << 20
JSON_RESULTS = "application/sparql-results+json"
EXAMPLES = [
    (
        "The kinds of things found, most frequent first",
        "SELECT ?type (COUNT(?thing) AS ?times)\n"
        "WHERE { ?thing a ?type }\n"
        "GROUP BY ?type ORDER BY DESC(?times) LIMIT 20",
    ),
    (
        "Names of things, and the page that says so",
        "PREFIX schema: <http://schema.org/>\n"
        "SELECT ?name ?page\n"
        "WHERE { GRAPH ?page { ?thing schema:name ?name } }\n"
        "LIMIT 50",
    ),
    (
        "The properties in use",
        "SELECT ?property (COUNT(*) AS ?times)\n"
        "WHERE { ?thing ?property ?value }\n"
        "GROUP BY ?property ORDER BY DESC(?times) LIMIT 50",
    ),
]


def router(rooms: WebRooms, show: Callable[..., HTMLResponse]) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sparql")
    async def ask(request: Request, query: str = "") -> Response:
        if "update" in request.query_params:
            return refused("This endpoint is read only: there is no update.", 403)
        if wants_page(request):
            return await console(rooms, show, query)
        return await answered(rooms, query, request.headers.get("accept", "*/*"))

    @routes.post("/sparql")
    async def post(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        body = await bounded_body(request)
        if body is None:
            return refused("That is too long for a query.", 413)
        if kind == "application/sparql-query":
            return await answered(rooms, body, request.headers.get("accept", "*/*"))
        given = parse_qs(body) if kind == "application/x-www-form-urlencoded" else {}
        if "query" not in given or "update" in given:
            return refused("This endpoint is read only: send a query, not an update.", 403)
        return await answered(rooms, given["query"][0], request.headers.get("accept", "*/*"))

    return routes


async def bounded_body(request: Request) -> str | None:
    """None when it is longer than any query may be; it is then not read to its end."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > LONGEST_BODY:
            return None
        pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace")


def wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def refused(words: str, status: int) -> Response:
    return PlainTextResponse(words + "\n", status)


async def answered(rooms: WebRooms, query: str, accept: str) -> Response:
    if not query.strip():
        return refused("Send a SPARQL query in the parameter `query`.", 400)
    try:
        result = await rooms.ask(query, accept)
    except QueryTooLong as trouble:
        return refused(str(trouble), 503)
    except QueryRefused as trouble:
        return refused(str(trouble), 400)
    headers = {"X-Gossamer-As-Of": in_words(result.as_of)}
    if result.truncated:
        headers["X-Gossamer-Truncated"] = "yes"
    return Response(result.body, media_type=result.media_type, headers=headers)


async def console(rooms: WebRooms, show: Callable[..., HTMLResponse], query: str) -> Response:
    values: dict[str, object] = {
        "query": query or EXAMPLES[0][1],
        "examples": EXAMPLES,
        "most_rows": MOST_ROWS,
        "limit_s": rooms.sparql_s,
        "error": "",
        "table": None,
        "text": "",
        "truncated": False,
        "as_of": "",
    }
    if query.strip():
        try:
            result = await rooms.ask(query, JSON_RESULTS)
        except QueryRefused as trouble:
            return show("sparql.html", 400, **values | {"error": str(trouble)})
        values |= {"as_of": in_words(result.as_of), "truncated": result.truncated, **laid_out(result)}
    return show("sparql.html", **values)


def laid_out(result: SparqlResult) -> dict[str, object]:
    if result.media_type != JSON_RESULTS:
        return {"text": result.body.decode("utf-8", "replace")}
    answer: dict[str, Any] = json.loads(result.body)
    if "boolean" in answer:
        return {"text": "yes" if answer["boolean"] else "no"}
    names = answer["head"]["vars"]
    rows = [[row.get(name, {}).get("value", "") for name in names] for row in answer["results"]["bindings"]]
    return {"table": {"names": names, "rows": rows}}
