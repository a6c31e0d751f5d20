"""The search page, and the same as JSON and CSV; suggestions for what one types; why a page was found."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

from gossamer.base.clock import SECOND
from gossamer.base.errors import QueryRefused, WorkerLost
from gossamer.search.answer import SearchAnswer
from gossamer.values.query import DEEPEST_HIT, MOST_HITS
from gossamer.values.url import url_of
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.searcher import SameText
from gossamer.web.render import make_templates
from gossamer.web.responses import JSON, Show, answers_with, fault, json_answer
from gossamer.web.rooms import WebRooms, numbers_of, state_of
from gossamer.web.search.address import PER_PAGE, SearchAddress, query_of
from gossamer.web.search.page import (
    HEAD,
    UNAVAILABLE,
    Answering,
    CrawlPulse,
    Kind,
    Reply,
    SearchQuestion,
    SearchSuggestions,
    cut_line,
    sentence,
)
from gossamer.web.search.parameters import LONGEST_TYPED, asked, number_in, pairs_in, plainly_asked

RETRY_AFTER_S = "5"
DIED = (
    "The search process crashed on this query, and so did the one tried next. Others are being started: "
    "try again in a moment, or change the query. See the server's terminal for details."
)
LOST = {
    "timeout": "This search exceeded the time limit and was stopped. Try fewer words, rarer words or a filter.",
    "closed": "The server is shutting down. Please try again when it is back.",
}
"""By the reason code of `WorkerLost`; DIED for all others."""
MEDIA_TYPES: dict[Kind, str] = {"page": "text/html", "json": JSON, "csv": "text/csv", "suggest": JSON}


class Desk:
    def __init__(self, rooms: WebRooms, show: Show) -> None:
        self._rooms, self._show = rooms, show
        searching = rooms.searching
        self._answering = Answering(
            rooms.find, searching.is_found, searching.suggest, make_templates(), rooms.suggestions
        )
        self._pulse: CrawlPulse | None = None
        self._is_feeling = False

    async def answer(self, request: Request, kind: Kind, asked: SearchAddress, limit: int = PER_PAGE) -> Response:
        began_s = self._rooms.clock.elapsed_s()
        question = SearchQuestion(kind, asked, limit, await self._pulse_now() if kind == "page" else None)
        reply = await self._reply(question)
        if reply.refused:
            return fault(request, self._show, reply.status, reply.refused)
        took_ms = 1000 * (self._rooms.clock.elapsed_s() - began_s)
        headers = {"Server-Timing": f"search;dur={took_ms:.1f}"}  # its waiting for a turn included
        if reply.status == UNAVAILABLE:
            headers["Retry-After"] = RETRY_AFTER_S
        return Response(reply.body, reply.status, headers, MEDIA_TYPES[kind])

    async def table(self, request: Request, asked: SearchAddress) -> Response:
        """All results as CSV, some at a time, up to the last one that can be paged to; a table that is cut says so in
        its last line."""
        first = await self._reply(SearchQuestion("csv", asked, MOST_HITS))
        if first.refused:
            return fault(request, self._show, first.status, first.refused)
        headers = {"Content-Disposition": 'attachment; filename="results.csv"'}
        return StreamingResponse(self._rows(asked, first), headers=headers, media_type=MEDIA_TYPES["csv"])

    async def _rows(self, asked: SearchAddress, reply: Reply) -> AsyncIterator[bytes]:
        yield reply.body
        start = asked.start
        while reply.is_full:
            start += MOST_HITS
            rows = start - asked.start
            if start + MOST_HITS > DEEPEST_HIT:
                yield cut_line(rows, "/export/pages.csv with the same parameters has every matching page")
                return
            reply = await self._reply(SearchQuestion("csv", replace(asked, start=start), MOST_HITS))
            if reply.refused:
                yield cut_line(rows, reply.refused)
                return
            yield reply.body.removeprefix(HEAD)

    async def _reply(self, question: SearchQuestion) -> Reply:
        try:
            reply = None if question.asked.is_empty else await self._rooms.searching.elsewhere(question)
        except WorkerLost as lost:
            self._rooms.tell("web.search-lost", kind=question.kind, why=str(lost))
            return self._answering.sorry(question, LOST.get(lost.why, DIED))
        return reply if reply is not None else await run_in_threadpool(self._answering, question)

    async def _pulse_now(self) -> CrawlPulse:
        """How the crawl goes, asked at most once a second: results come with every letter typed. While one asks, the
        last one will do for the others."""
        last, now = self._pulse, self._rooms.clock.now()
        if last is not None and (self._is_feeling or 0 <= now - last.at < SECOND):
            return last
        self._is_feeling = True
        try:
            numbers, state = await run_in_threadpool(lambda: (numbers_of(self._rooms), state_of(self._rooms)))
        finally:
            self._is_feeling = False
        self._pulse = CrawlPulse(now, numbers, state)
        return self._pulse


NOT_FOUND_SO = "That page is not in the index."
PLACES = {
    "title": "in the title",
    "headings": "in headings or bold",
    "content": "in the text",
    "rest": "outside the main text",
    "address": "in the URL",
    "anchors": "in links from other sites",
}


class CopiesAnswer(msgspec.Struct, frozen=True):
    copies: tuple[SameText, ...]
    """Pages with one text, in the order of their addresses; at most 100."""


Question = Annotated[SearchAddress, Depends(asked)]
Limit = Annotated[int, Query(ge=1, le=MOST_HITS)]


def router(rooms: WebRooms, show: Show, desk: Desk) -> APIRouter:
    """Most questions for the first, second and fourth of these go by `search_desk.plain_routes`."""
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    async def search(request: Request, asked: Question) -> Response:
        return await desk.answer(request, "page", asked)

    @routes.get("/search.json", responses=answers_with(SearchAnswer))
    async def search_json(request: Request, asked: Question, limit: Limit = PER_PAGE) -> Response:
        return await desk.answer(request, "json", asked, limit)

    @routes.get("/search.csv", responses=answers_with(str, media_type="text/csv"))
    async def search_csv(request: Request, asked: Question, limit: Limit | None = None) -> Response:
        """All results as CSV, one line for pages with the same text (`copies` says how many), or as many as `limit`
        says. Beyond the 10,000th it ends with a line that says so; /export/pages.csv has every matching page."""
        return await (desk.table(request, asked) if limit is None else desk.answer(request, "csv", asked, limit))

    @routes.get("/suggest.json", responses=answers_with(SearchSuggestions))
    async def suggest(request: Request, q: Annotated[str, Query(max_length=LONGEST_TYPED)] = "") -> Response:
        return await desk.answer(request, "suggest", SearchAddress(q))

    @routes.get("/search/why", response_class=HTMLResponse)
    def why(request: Request, asked: Question, url: str = "") -> Response:
        reasons = reasons_of(rooms, asked, url)
        if isinstance(reasons, str):
            return fault(request, show, 400, reasons)
        return show("search_why.html", asked=asked, url=url, reasons=reasons, places=PLACES)

    @routes.get("/search/why.json", responses=answers_with(Explanation))
    def why_json(request: Request, asked: Question, url: str = "") -> Response:
        reasons = reasons_of(rooms, asked, url)
        return fault(request, show, 400, reasons) if isinstance(reasons, str) else json_answer(reasons)

    @routes.get("/search/copies", response_class=HTMLResponse)
    def copies(request: Request, url: str = "") -> Response:
        alike = copies_of(rooms, url)
        if not alike:
            return fault(request, show, 404, NOT_FOUND_SO)
        return show("search_copies.html", url=url, copies=alike)

    @routes.get("/search/copies.json", responses=answers_with(CopiesAnswer))
    def copies_json(request: Request, url: str = "") -> Response:
        alike = copies_of(rooms, url)
        return json_answer(CopiesAnswer(tuple(alike))) if alike else fault(request, show, 404, NOT_FOUND_SO)

    return routes


def reasons_of(rooms: WebRooms, asked: SearchAddress, text: str) -> Explanation | str:
    """Or what is wrong, in words."""
    url = url_of(text.strip())
    if url is None or asked.is_empty:
        return "Which page, and which words? Open this page from the search results."
    try:
        return rooms.searching.explain(query_of(asked), url) or NOT_FOUND_SO
    except QueryRefused as trouble:
        return sentence(trouble)


def copies_of(rooms: WebRooms, text: str) -> Sequence[SameText]:
    url = url_of(text.strip())
    return rooms.searching.copies(url) if url is not None else ()


Read = Callable[[bytes], tuple[SearchAddress, int] | None]
"""The parameters in an address; None when they are not plainly right."""


class PlainRoute(BaseRoute):
    """A way past FastAPI for questions that are plainly right: it looks at each of twenty parameters,
    given or not. Any other question it lets pass, and FastAPI's route of the same address refuses it, in words."""

    def __init__(self, path: str, kind: Kind, desk: Desk, read: Read) -> None:
        self.path = path
        self._kind, self._desk, self._read = kind, desk, read

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["path"] != self.path or scope["method"] != "GET":
            return Match.NONE, {}
        asked = self._read(scope["query_string"])
        return (Match.NONE, {}) if asked is None else (Match.FULL, {"plainly_asked": asked})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._desk.answer(Request(scope), self._kind, *scope["plainly_asked"])
        await answer(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        raise NoMatchFound(name, path_params)


def plain_routes(desk: Desk) -> Sequence[BaseRoute]:
    return (
        PlainRoute("/", "page", desk, of_page),
        PlainRoute("/search.json", "json", desk, of_json),
        PlainRoute("/suggest.json", "suggest", desk, of_suggestions),
    )


def of_page(query_string: bytes) -> tuple[SearchAddress, int] | None:
    asked = plainly_asked(pairs_in(query_string))
    return None if asked is None else (asked, PER_PAGE)


def of_json(query_string: bytes) -> tuple[SearchAddress, int] | None:
    pairs = pairs_in(query_string)
    asked = plainly_asked(pairs)
    limit = number_in(dict(pairs).get("limit", str(PER_PAGE)))
    return None if asked is None or not 1 <= limit <= MOST_HITS else (asked, limit)


def of_suggestions(query_string: bytes) -> tuple[SearchAddress, int] | None:
    words = dict(pairs_in(query_string)).get("q", "")
    return None if len(words) > LONGEST_TYPED else (SearchAddress(words), PER_PAGE)
