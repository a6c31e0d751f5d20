"""The web site of one collection: pages for people, the same as JSON, and a SPARQL endpoint."""

import sqlite3
from importlib.resources import files as packaged
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.base.errors import GossamerError, StateDamaged, ViewDamaged
from gossamer.web import api, exports
from gossamer.web.access import login
from gossamer.web.access.guard import Gate
from gossamer.web.access.login import Entrance
from gossamer.web.crawl import freshness, status
from gossamer.web.crawl import routes as crawl
from gossamer.web.entities import routes as entity
from gossamer.web.entities import vocabularies
from gossamer.web.nodes import metrics
from gossamer.web.nodes import routes as nodes
from gossamer.web.page import routes as page_view
from gossamer.web.responses import BROKEN, BUSY, CLOSED, DAMAGED, Show, fault, in_words, make_show, wrong_parameters
from gossamer.web.rooms import WebRooms
from gossamer.web.search import routes as searching
from gossamer.web.search.routes import Desk, plain_routes
from gossamer.web.sparql import endpoint

SUBJECTS = (
    entity,
    vocabularies,
    page_view,
    endpoint,
    nodes,
    metrics,
    status,
    exports,
    crawl,
    freshness,
)


def make_app(rooms: WebRooms) -> ASGIApp:
    show = make_show()
    entrance = Entrance(rooms.door, rooms.clock, show)
    return Gate(make_site(rooms, show, entrance), rooms.hosts, show, entrance)


def make_site(rooms: WebRooms, show: Show, entrance: Entrance) -> FastAPI:
    """The pages themselves, for whoever the Gate lets pass."""
    app = FastAPI(
        title="Gossamer", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
    )
    desk = Desk(rooms, show)
    app.router.routes.extend(plain_routes(desk))
    app.mount("/static", StaticFiles(directory=str(packaged("gossamer.web") / "static")), name="static")
    for subject in SUBJECTS:
        app.include_router(subject.router(rooms, show))
    app.include_router(searching.router(rooms, show, desk))
    app.include_router(login.router(entrance, show))
    app.include_router(api.router(app, show))

    @app.get("/robots.txt", response_class=PlainTextResponse, include_in_schema=False)
    def robots() -> str:
        """A search page has no end: other spiders need not walk it."""
        return "User-agent: *\nDisallow: /\n"

    show_faults(app, rooms, show)
    return app


def show_faults(app: FastAPI, rooms: WebRooms, show: Show) -> None:
    """No fault ends in a traceback on a page; what is our own is told."""

    @app.exception_handler(HTTPException)
    async def refused(request: Request, trouble: Any) -> Response:
        return fault(request, show, trouble.status_code, in_words(trouble.status_code, request.url.path))

    @app.exception_handler(RequestValidationError)
    async def misunderstood(request: Request, trouble: Any) -> Response:
        return fault(request, show, 400, wrong_parameters(trouble.errors()))

    @app.exception_handler(GossamerError)
    @app.exception_handler(sqlite3.Error)
    @app.exception_handler(PermissionError)
    async def unreadable(request: Request, trouble: Exception) -> Response:
        rooms.tell("web.unreadable", path=request.url.path, why=f"{type(trouble).__name__}: {trouble}")
        if isinstance(trouble, ViewDamaged | StateDamaged):
            mend = "rebuild" if isinstance(trouble, ViewDamaged) else "rebuild --state"
            return fault(request, show, 503, DAMAGED.format(mend=mend))
        return fault(request, show, 503, CLOSED if isinstance(trouble, PermissionError) else BUSY)

    @app.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        return fault(request, show, 500, BROKEN)  # the server logs the exception, which is raised again
