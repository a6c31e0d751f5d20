"""The list of pages: every URL whose document was fetched, is kept and can be found, whoever fetched it."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.base.errors import QueryRefused
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.crawl.forms import Notices
from gossamer.web.crawl.rooms import PagesAsked, PagesFound
from gossamer.web.faults import fault
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms

Host = Annotated[str, Query(max_length=300, description="Only pages of this host.")]
After = Annotated[str, Query(max_length=9000, description="A position: that of the last page listed.")]
Most = Annotated[int, Query(ge=1, le=1000)]


class ListedPages(msgspec.Struct, frozen=True):
    total: int | None
    """How many there are in all; None: nobody counts those of one host."""
    found: PagesFound


def router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    del notices
    routes = APIRouter()

    def listed(host: str, after: str, most: int) -> ListedPages:
        host = host.strip().lower()
        total = None if host else rooms.counts().pages
        return ListedPages(total, rooms.crawl.pages(PagesAsked(host, after, most)))

    @routes.get("/crawl/pages", response_class=HTMLResponse)
    def page(request: Request, host: Host = "", after: After = "", most: Most = 50) -> Response:
        try:
            known = listed(host, after, most)
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())
        return show("pages.html", known=known, host=host, after=after)

    @routes.get("/crawl/pages.json", responses=answers_with(ListedPages))
    def as_json(request: Request, host: Host = "", after: After = "", most: Most = 50) -> Response:
        """Every page that is stored and searchable; `next` is the position of the next part. All of them at once,
        with their texts, are in /export/pages.jsonl and /export/pages.csv."""
        try:
            return json_answer(listed(host, after, most))
        except QueryRefused as trouble:
            return fault(request, show, 400, f"{trouble}.".capitalize())

    return routes
