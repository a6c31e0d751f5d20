"""How the crawl is doing."""

from collections.abc import Callable

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, JSONResponse

from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.web.rooms import WebRooms, beats_of, numbers_of, state_of

CARDS = [
    ("pages", "pages"),
    ("queued", "addresses waiting"),
    ("leased", "visits under way"),
    ("hosts", "hosts"),
    ("known", "addresses known"),
    ("captures", "captures kept"),
]


def router(rooms: WebRooms, show: Callable[..., HTMLResponse]) -> APIRouter:
    routes = APIRouter()

    @routes.get("/status", response_class=HTMLResponse)
    def page() -> Response:
        counts = rooms.counts()
        reasons = [
            {"code": code, "number": number, "words": IN_WORDS[Reason(code)]}
            for code, number in sorted(counts.by_reason.items(), key=lambda one: -one[1])
        ]
        return show(
            "status.html",
            state=state_of(rooms),
            numbers=numbers_of(rooms),
            cards=CARDS,
            reasons=reasons,
            beats=beats_of(rooms),
        )

    @routes.get("/status.json")
    def as_json() -> Response:
        return JSONResponse(
            {
                "state": state_of(rooms),
                "numbers": numbers_of(rooms),
                "outcomes": rooms.counts().by_reason,
                "processes": beats_of(rooms),
            }
        )

    return routes
