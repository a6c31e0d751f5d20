"""The web site of one collection: pages for people, the same as JSON, and a SPARQL endpoint."""

from importlib.resources import files as packaged
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from gossamer.base.errors import GossamerError, QueryRefused, StateDamaged, ViewDamaged
from gossamer.base.tell import Tell
from gossamer.store.service import ServiceLost, ServiceRefused
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
from gossamer.web.render import sentence
from gossamer.web.responses import NOT_UNDERSTOOD, ROUTER_ERRORS, Show, WebError, error_response, make_show
from gossamer.web.routes import Routes
from gossamer.web.search import routes as search
from gossamer.web.site import WebSite
from gossamer.web.sparql import endpoint
from gossamer.web.streams import status_of

MODULES = (
    search,  # first, as most requests are for it and routes are tried in order
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
BROKEN = "This is an error in the server; details are on its terminal. It is safe to go back and try again."
DAMAGED = (
    "A file of this collection is damaged. The archive is not affected: its owner can repair it with "
    "`gossamer {fix}`; the file's name is on the terminal."
)
CLOSED = (
    "The server is not allowed to read a file of this collection. Its name is on the terminal; the owner should "
    "check its ownership and permissions."
)
BUSY = "The collection cannot be read at the moment. Please try again in a few seconds."


def make_app(site: WebSite) -> ASGIApp:
    show = make_show()
    entrance = Entrance(site.door, site.collection.outside.clock)
    return Gate(make_routes(site, show, entrance), site.hosts, show, entrance)


def make_routes(site: WebSite, show: Show, entrance: Entrance) -> Starlette:
    """The routes, for every request that the Gate allows."""
    routes = Routes()
    for module in MODULES:
        routes.include(module.router(site, show))
    routes.include(login.router(entrance, show))
    routes.include(api.router(routes, show))

    @routes.get("/robots.txt")
    def robots() -> Response:
        """Search pages are endless, so crawlers are kept out."""
        return PlainTextResponse("User-agent: *\nDisallow: /\n")

    static = Mount("/static", StaticFiles(directory=str(packaged("gossamer.web") / "static")), name="static")
    app = Starlette(routes=[*routes.for_starlette(), static])
    app.router.redirect_slashes = False
    show_errors(app, show, site.tell)
    return app


def show_errors(app: Starlette, show: Show, tell: Tell) -> None:
    """Every error becomes an error page without a traceback; our own errors are logged."""

    async def refused(request: Request, trouble: Any) -> Response:
        words = ROUTER_ERRORS.get(trouble.status_code, NOT_UNDERSTOOD).format(path=request.url.path[:200])
        return error_response(request, show, trouble.status_code, words)

    async def web_error(request: Request, trouble: Any) -> Response:
        return error_response(request, show, trouble.status, trouble.words, trouble.headers)

    async def refused_query(request: Request, trouble: Any) -> Response:
        return error_response(request, show, status_of(trouble), sentence(trouble))

    async def unreadable(request: Request, trouble: Exception) -> Response:
        tell("web.unreadable", path=request.url.path, why=f"{type(trouble).__name__}: {trouble}")
        if isinstance(trouble, ViewDamaged | StateDamaged):
            fix = "rebuild" if isinstance(trouble, ViewDamaged) else "rebuild --state"
            return error_response(request, show, 503, DAMAGED.format(fix=fix))
        if isinstance(trouble, ServiceLost | ServiceRefused):
            return error_response(request, show, 503, sentence(trouble))
        return error_response(request, show, 503, CLOSED if isinstance(trouble, PermissionError) else BUSY)

    async def broken(request: Request, _: Exception) -> Response:
        return error_response(request, show, 500, BROKEN)  # the server logs the exception, which is raised again

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(WebError, web_error)
    app.add_exception_handler(QueryRefused, refused_query)
    for kind in (GossamerError, PermissionError):
        app.add_exception_handler(kind, unreadable)
    app.add_exception_handler(Exception, broken)
