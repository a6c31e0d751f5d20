"""The search page, and the same as JSON and CSV; suggestions for what one types; why a page was found."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.base.errors import QueryRefused
from gossamer.search.answer import SearchAnswer
from gossamer.values.query import MOST_HITS
from gossamer.values.url import url_of
from gossamer.views.words.explanation import Explanation
from gossamer.views.words.searcher import SameText
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.faults import fault
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms
from gossamer.web.search.address import PER_PAGE, SearchAddress, query_of
from gossamer.web.search.desk import Desk
from gossamer.web.search.page import SearchSuggestions, sentence
from gossamer.web.search.parameters import LONGEST_TYPED, asked

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
