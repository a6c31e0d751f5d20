"""The system manager: every machine and process, live, with an hour of history."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from gossamer.base.clock import SECOND, Instant
from gossamer.monitor.history import HourHistory, as_csv, history_of, since, step_for
from gossamer.monitor.system import System
from gossamer.monitor.vitals import Figures
from gossamer.monitor.words import BADGES, CARDS, COUNTERS, cells_of, figure, key_of, moment, rows_of
from gossamer.values.json_form import json_bytes
from gossamer.web.answers import answers_with, json_answer
from gossamer.web.crawl.number_lists import LISTS
from gossamer.web.exports import drawn, full
from gossamer.web.nodes.live import LiveFeed, LiveStream
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms
from gossamer.web.streams import MOST_EXPORTS, Slots, Stream

MINUTES = (
    ("pages_s", "Pages/s"),
    ("bytes_s", "Bytes/s"),
    ("queued", "Waiting"),
    ("in_flight", "In progress"),
    ("errors_min", "Failures/min"),
    ("words_lag_s", "Index delay"),
    ("facts_lag_s", "Graph delay"),
    ("cpu", "CPU"),
    ("memory_used", "Memory used"),
    ("rss", "Memory (Gossamer)"),
    ("disk_free", "Disk free"),
)
PLOTS = (
    ("Pages per second", "pages_s"),
    ("URLs waiting", "queued"),
    ("Index delay and graph delay, in seconds", "words_lag_s facts_lag_s"),
    ("Failures per minute", "errors_min"),
    ("CPU of the machine, percent", "cpu"),
    ("Memory: total used, used by Gossamer", "memory_used rss"),
)
SPANS = (5, 15, 60)
Minutes = Annotated[int, Query(ge=1, le=60, description="How far back, in minutes.")]


class NodesEvent(msgspec.Struct, frozen=True):
    """One live event: texts by the key of the cell they belong to. A page whose shape is another one is old."""

    at: Instant
    shape: str
    cells: dict[str, str]
    badges: dict[str, str]
    """Of each machine and process: good, warn, bad or idle."""
    points: Figures
    """The newest point of each plot."""


def router(rooms: WebRooms, show: Show) -> APIRouter:
    routes = APIRouter()
    monitor, slots = rooms.monitor, Slots(MOST_EXPORTS)

    def event() -> bytes:
        return json_bytes(live_of(monitor.system()))

    feed = LiveFeed(event, rooms.clock, monitor.ending, watched=monitor.watched)

    def recent(minutes: int, step_s: int | None = None) -> HourHistory:
        now = rooms.clock.now()
        since_at = since(now, minutes)
        return history_of(monitor.history(since_at), since_at, now, step_s or step_for(minutes))

    @routes.get("/nodes", response_class=HTMLResponse)
    def page(minutes: Minutes = 60) -> Response:
        system = monitor.system()
        nodes, processes = rows_of(system)
        cells = cells_of(system)
        return show(
            "nodes.html",
            system=system,
            nodes=nodes,
            processes=processes,
            cells=cells,
            shape=shape_of(system),
            cards=CARDS,
            lists=LISTS,
            counters=[one for one in COUNTERS if f"counter/{one[0]}" in cells],
            plots=PLOTS,
            names=MINUTES,
            hints=[(hint, pieces(hint.mend)) for hint in system.hints],
            minutes=list(minutes_of(recent(minutes, 60))),
            span=minutes,
            spans=sorted({*SPANS, minutes}),
        )

    @routes.get("/nodes.json", responses=answers_with(System))
    def as_json() -> Response:
        """Every machine and process with its last figures, totals and averages, counters, and hints."""
        return json_answer(monitor.system())

    @routes.get("/nodes/live", include_in_schema=False)
    async def live(request: Request) -> Response:
        return LiveStream(feed, request)

    @routes.get("/nodes/history.json", responses=answers_with(HourHistory))
    def history(minutes: Minutes = 60) -> Response:
        """Totals over all processes, at most an hour back; longer ranges have longer steps."""
        return json_answer(recent(minutes))

    @routes.get("/nodes/history.csv", responses=answers_with(str, media_type="text/csv"))
    def history_csv(request: Request, minutes: Minutes = 60) -> Response:
        """Every second of every process and machine."""
        since_at = since(rooms.clock.now(), minutes)
        lines = (line.encode() for line in as_csv(monitor.history(since_at)))
        kind = "text/csv; charset=utf-8; header=present"
        return Stream(lambda: drawn(lines), kind, "gossamer-history.csv", slots, full(request, show))

    return routes


def pieces(words: str) -> list[tuple[str, bool]]:
    """Text, and commands, which stand between backquotes."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(words.split("`")) if piece]


def live_of(system: System) -> NodesEvent:
    every = (*system.nodes, *system.processes)
    badges = {key_of(one): BADGES[one.life] for one in every}
    return NodesEvent(system.at, shape_of(system), cells_of(system), badges, points_of(system))


def shape_of(system: System) -> str:
    """Which rows and hints there are."""
    return " ".join([*(key_of(one) for one in (*system.nodes, *system.processes)), *(one.code for one in system.hints)])


def points_of(system: System) -> Figures:
    totals = system.totals
    names = ("pages_s", "queued", "words_lag_s", "facts_lag_s", "errors_min", "rss")
    points = {name: totals[name] for name in names if name in totals}
    used = totals.get("memory_total", 0) - totals.get("memory_free", 0)
    return points | {"cpu": max((one.figures.get("cpu", 0) for one in system.nodes), default=0), "memory_used": used}


def minutes_of(history: HourHistory) -> Iterator[tuple[str, Sequence[str]]]:
    """The newest first; minutes in which nothing ran are left out."""
    columns = [(name, history.series[name]) for name, _ in MINUTES]
    for place in range(len(history.at) - 1, -1, -1):
        values = [(name, column[place]) for name, column in columns]
        if any(value is not None for _, value in values):
            texts = ["" if value is None else figure(name, value) for name, value in values]
            yield moment(history.at[place] // SECOND * SECOND)[11:16], texts
