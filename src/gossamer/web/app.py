"""The web site of one collection: pages for people, the same as JSON, and a SPARQL endpoint. It changes nothing."""

from importlib.resources import files as packaged

import jinja2
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from gossamer import __version__
from gossamer.web import facts, page_view, searching, status
from gossamer.web.guard import gate
from gossamer.web.rooms import WebRooms


def make_app(rooms: WebRooms) -> FastAPI:
    app = FastAPI(title="Gossamer", version=__version__, docs_url=None, redoc_url=None)
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("gossamer.web"), autoescape=True, undefined=jinja2.StrictUndefined
    )

    def show(template: str, status_code: int = 200, **values: object) -> HTMLResponse:
        return HTMLResponse(templates.get_template(template).render(**values), status_code)

    app.middleware("http")(gate(rooms.hosts))
    app.mount("/static", StaticFiles(directory=str(packaged("gossamer.web") / "static")), name="static")
    for room in (searching, page_view, facts, status):
        app.include_router(room.router(rooms, show))

    @app.exception_handler(404)
    async def missing(request: Request, _: Exception) -> Response:
        words = f"No page has the address {request.url.path}."
        return show("missing.html", 404, heading="There is nothing here", words=words)

    return app
