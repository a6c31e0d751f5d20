"""The search page."""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from gossamer.errors import QueryRefused
from gossamer.search.find import Answer, Hit
from gossamer.search.query import parse
from gossamer.web.names import Named, named
from gossamer.web.rooms import WebRooms, numbers_of, state_of

PER_PAGE = 10
DEEPEST = 1000
Start = Annotated[int, Query(alias="from", ge=0, le=DEEPEST)]


class ShownHit(NamedTuple):
    url: str
    title: str
    snippet: list[tuple[str, bool]]
    types: list[Named]
    language: str
    fact_count: int
    copies: int


class ShownAnswer(NamedTuple):
    hits: list[ShownHit]
    total: int
    took_s: float


def router(rooms: WebRooms, show: Callable[..., HTMLResponse]) -> APIRouter:
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    def search(q: str = "", start: Start = 0) -> Response:
        answer, error = found(rooms, q, start)
        return show("search.html", 400 if error else 200, **values(rooms, q, start, answer, error))

    @routes.get("/search.json")
    def search_json(q: str = "", start: Start = 0) -> Response:
        answer, error = found(rooms, q, start)
        if error:
            return JSONResponse({"error": error}, 400)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    return routes


def found(rooms: WebRooms, words: str, start: int) -> tuple[Answer | None, str]:
    """The answer, or what is wrong with the question; neither when nothing was asked."""
    if not words.strip():
        return None, ""
    try:
        return rooms.find(parse(words, offset=start, limit=PER_PAGE)), ""
    except QueryRefused as trouble:
        return None, str(trouble)


def values(rooms: WebRooms, words: str, start: int, answer: Answer | None, error: str) -> dict[str, object]:
    more = answer is not None and start + PER_PAGE < min(answer.total, DEEPEST)
    return {
        "query": words,
        "answer": shown(answer) if answer else None,
        "error": error,
        "numbers": numbers_of(rooms),
        "state": state_of(rooms),
        "suggestions": rooms.suggestions,
        "previous": max(0, start - PER_PAGE) if start else None,
        "following": start + PER_PAGE if more else None,
    }


def shown(answer: Answer) -> ShownAnswer:
    return ShownAnswer([shown_hit(hit) for hit in answer.hits], answer.total, answer.took_s)


def shown_hit(hit: Hit) -> ShownHit:
    return ShownHit(
        hit.url,
        hit.title,
        [(piece.text, piece.is_match) for piece in hit.snippet],
        [named(iri) for iri in hit.types],
        hit.language,
        hit.fact_count,
        hit.copies - 1,
    )
