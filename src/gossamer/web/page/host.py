"""One host: what it was promised and what it got, and why nothing is being fetched there."""

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse

from gossamer.values.url import url_of
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.faults import fault
from gossamer.web.page.rooms import HostWhy
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms

NO_NAME = "Which host? Put its name after /host?name= or open it from a page on that host."
UNKNOWN = "No URL on that host is known. Hosts are found through seeds, links, sitemaps and feeds."


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()

    @routes.get(
        "/host",
        response_class=HTMLResponse,
        summary="One host: its fetches, the gaps between them, and what it is waiting for",
    )
    async def host(request: Request, name: str = "") -> Response:
        known = await run_in_threadpool(found, rooms, name)
        if known is None or not known.is_known:
            return missing(request, show, name)
        return show("page_host.html", host=known)

    @routes.get("/host.json", responses=answers_with(HostWhy), summary="The same as JSON")
    async def host_json(request: Request, name: str = "") -> Response:
        known = await run_in_threadpool(found, rooms, name)
        return json_answer(known) if known is not None and known.is_known else missing(request, show, name)

    return routes


def found(rooms: WebRooms, text: str) -> HostWhy | None:
    """By its name, or by any address there."""
    url = url_of(text.strip() if "://" in text else f"http://{text.strip()}/")
    return rooms.pages.host(url.host.name) if url is not None else None


def missing(request: Request, show: Show, name: str) -> Response:
    return fault(request, show, 404, UNKNOWN) if name.strip() else fault(request, show, 400, NO_NAME)
