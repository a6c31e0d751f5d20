"""The search page."""

from typing import Annotated, NamedTuple
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.clock import Instant
from gossamer.errors import QueryRefused
from gossamer.search.find import Answer, Hit
from gossamer.search.query import parse
from gossamer.web.faults import fault
from gossamer.web.names import Named, named
from gossamer.web.rooms import WebRooms, numbers_of, state_of
from gossamer.web.showing import Show

PER_PAGE = 10
DEEPEST = 1000
ENDS = tuple(".!?…。！？»”\"'")
Start = Annotated[int, Query(alias="from", ge=0, le=DEEPEST)]
NOTHING_ASKED = "Say what to look for: /search.json?q=words"


class Kind(NamedTuple):
    iri: str
    name: str
    narrowed: str
    """The same question, for things of this kind only."""


class ShownHit(NamedTuple):
    url: str
    title: str
    snippet: list[tuple[str, bool]]
    kinds: list[Kind]
    language: str
    fetched_at: Instant
    fact_count: int
    copies: int
    linked_from: int


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    def search(q: str = "", start: Start = 0) -> Response:
        answer, error = found(rooms, q, start)
        return show("search.html", 400 if error else 200, **values(rooms, q, start, answer, error))

    @routes.get("/search.json")
    def search_json(request: Request, q: str = "", start: Start = 0) -> Response:
        answer, error = found(rooms, q, start)
        if answer is None:
            return fault(request, show, 400, error or NOTHING_ASKED)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    return routes


def found(rooms: WebRooms, words: str, start: int) -> tuple[Answer | None, str]:
    """The answer, or what is wrong with the question; neither when nothing was asked."""
    if not words.strip():
        return None, ""
    try:
        return rooms.find(parse(words, offset=start, limit=PER_PAGE)), ""
    except QueryRefused as trouble:
        return None, f"{trouble}".capitalize() + "."


def values(rooms: WebRooms, words: str, start: int, answer: Answer | None, error: str) -> dict[str, object]:
    hits = [shown(hit, words) for hit in answer.hits] if answer else []
    # The total counts copies, which are folded: a page that is not full is the last one.
    more = answer is not None and len(hits) == PER_PAGE and start + PER_PAGE < min(answer.total, DEEPEST)
    return {
        "query": words,
        "answer": answer,
        "hits": hits,
        "start": start,
        "error": error,
        "numbers": numbers_of(rooms),
        "state": state_of(rooms),
        "suggestions": rooms.suggestions,
        "as_json": f"/search.json?{here(words, start)}" if answer else "/status.json",
        "previous": here(words, max(0, start - PER_PAGE)) if start else "",
        "following": here(words, start + PER_PAGE) if more else "",
    }


def here(words: str, start: int) -> str:
    return urlencode({"q": words} | ({"from": start} if start else {}), errors="replace")


def shown(hit: Hit, words: str) -> ShownHit:
    return ShownHit(
        hit.url,
        hit.title,
        pieces(hit),
        kinds_of(hit.types, words),
        hit.language,
        hit.fetched_at,
        hit.fact_count,
        hit.copies - 1,
        hit.linked_from,
    )


def pieces(hit: Hit) -> list[tuple[str, bool]]:
    """The snippet; it breaks off somewhere, and then says so."""
    shown = [(piece.text, piece.is_match) for piece in hit.snippet]
    if shown and not shown[-1][0].rstrip().endswith(ENDS):
        shown.append((" …", False))
    return shown


def kinds_of(types: tuple[str, ...], words: str) -> list[Kind]:
    """One a name: two vocabularies may both have a Person, and a search by that name finds either."""
    by_name: dict[str, Named] = {}
    for iri in types:
        by_name.setdefault(named(iri).name, named(iri))
    return [Kind(kind.iri, kind.name, narrowed(words, kind)) for kind in by_name.values()]


def narrowed(words: str, kind: Named) -> str:
    rest = [part for part in words.split() if not part.lower().startswith("type:")]
    wanted = f"type:{kind.name}" if kind.name.isalnum() else f'type:"{kind.iri}"'
    return " ".join([*rest, wanted])
