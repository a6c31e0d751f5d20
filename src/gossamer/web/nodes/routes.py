"""The page of machines and processes, live, with an hour of history."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.cluster.members import drain_node, remove_node
from gossamer.collection.collection import Collection
from gossamer.collection.tables import in_pieces
from gossamer.monitor.cluster_texts import (
    BROKEN,
    cluster_badges,
    cluster_cells,
    cluster_shape,
    node_rows,
    service_rows,
)
from gossamer.monitor.control import Figures
from gossamer.monitor.nodes import ClusterEvent, NodeRegistry, NodeStatus, ViewQueue
from gossamer.monitor.system import (
    BADGES,
    CARDS,
    COUNTERS,
    HourHistory,
    System,
    SystemRow,
    as_csv,
    cells_of,
    figure,
    history_of,
    key_of,
    moment,
    rows_of,
    since,
    step_for,
)
from gossamer.values.format import json_bytes
from gossamer.web.crawl.forms import Fields, Notices, add_change, field
from gossamer.web.crawl.status import LISTS
from gossamer.web.responses import Show
from gossamer.web.routes import CSV, Routes, answers_with
from gossamer.web.site import WebSite
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


class NodesParameters(msgspec.Struct, frozen=True):
    minutes: Annotated[int, Meta(ge=1, le=60, description="How far back, in minutes.")] = 60


class NodesPageParameters(NodesParameters, frozen=True):
    said: Annotated[str, Meta(max_length=20)] = ""
    confirm: Literal["", "drain", "remove"] = ""
    node: Annotated[str, Meta(max_length=80)] = ""


class NodesEvent(msgspec.Struct, frozen=True):
    """One live event: texts by the key of their table cell. A page with another `shape` must reload its rows."""

    at: Instant
    shape: str
    cells: dict[str, str]
    badges: dict[str, str]
    """Of each machine and process: good, warn, bad or idle."""
    points: Figures
    """The newest point of each plot."""


def router(site: WebSite, show: Show) -> Routes:
    routes, notices = Routes(), Notices()
    watch, clock, slots = site.collection.watch, site.collection.outside.clock, Slots(MOST_EXPORTS)
    feed = LiveFeed(lambda: json_bytes(live_of(watch.system())), clock, site.is_ending, watched=watch.watched)

    def recent(minutes: int, step_s: int) -> HourHistory:
        now = clock.now()
        since_at = since(now, minutes)
        return history_of(watch.history(since_at), since_at, now, step_s)

    @routes.get("/nodes")
    def page(params: NodesPageParameters) -> Response:
        system = watch.system()
        (nodes, processes), cells = rows_of(system), every_cell(system)
        return show(
            "nodes.html",
            params=params,
            said=notices.get(params.said),
            cluster=cluster_page(system),
            nodes=nodes,
            processes=processes,
            cells=cells,
            shape=shape_of(system),
            cards=CARDS,
            lists=LISTS,
            counters=[one for one in COUNTERS if f"counter/{one[0]}" in cells],
            plots=PLOTS,
            names=MINUTES,
            hints=system.hints,
            minutes=list(minutes_of(recent(params.minutes, 60))),
            span=params.minutes,
            spans=sorted({*SPANS, params.minutes}),
        )

    @routes.get("/nodes.json", "Machines and processes")
    def as_json() -> System:
        """Every machine and process with its last figures, totals and averages, counters, and hints."""
        return watch.system()

    @routes.get("/nodes/live")
    async def live(request: Request) -> Response:
        return LiveStream(feed, request)

    @routes.get("/nodes/history.json", "The last hour")
    def history(params: NodesParameters) -> HourHistory:
        """Totals over all processes, at most an hour back; longer ranges have longer steps."""
        return recent(params.minutes, step_for(params.minutes))

    @routes.get("/nodes/history.csv", "The last hour as CSV", answers_with(str, CSV))
    def history_csv(params: NodesParameters) -> Response:
        """Every second of every process and machine."""
        since_at = since(clock.now(), params.minutes)
        lines = as_csv(watch.history(since_at))
        kind = "text/csv; charset=utf-8; header=present"
        return Stream(lambda: in_pieces(lines), kind, "gossamer-history.csv", slots)

    add_orders(routes, site.collection, notices)
    return routes


NODE_FIELD = field("The node's name, as on the page.", needed=True)


def add_orders(routes: Routes, collection: Collection, notices: Notices) -> None:
    """What can be asked of a node of a cluster."""

    async def drain(fields: Fields) -> str:
        return await drain_node(registry_of(collection), fields.get("node", ""))

    async def remove(fields: Fields) -> str:
        registry = registry_of(collection)
        return await remove_node(registry, fields.get("node", ""), collection.directory, collection.outside)

    words = "The node finishes what is in progress, indexes nothing new, and leaves the cluster."
    add_change(routes, notices, "/nodes/drain", "Drain a node", drain, "/nodes", description=words, node=NODE_FIELD)
    words = "For a node that is gone: it is forgotten, and what it had leased is free at once."
    add_change(routes, notices, "/nodes/remove", "Remove a node", remove, "/nodes", description=words, node=NODE_FIELD)


def registry_of(collection: Collection) -> NodeRegistry:
    if (registry := collection.watch.registry) is None:
        raise GossamerError("This is no cluster: it has no nodes that could be drained or removed.")
    return registry


class ClusterPage(NamedTuple):
    """What the page shows of a cluster."""

    nodes: list[SystemRow]
    statuses: dict[str, NodeStatus]
    services: list[SystemRow]
    backlog: tuple[ViewQueue, ...]
    events: list[tuple[ClusterEvent, str, bool]]
    """Latest first: with its time in words, and whether it is a warning."""


def cluster_page(system: System) -> ClusterPage | None:
    if (state := system.cluster) is None:
        return None
    events = [(one, moment(one.at), one.kind in BROKEN) for one in reversed(state.events)]
    statuses = {f"node/{one.name}": one for one in state.nodes}
    return ClusterPage(node_rows(state), statuses, service_rows(state), state.backlog, events)


def every_cell(system: System) -> dict[str, str]:
    return cells_of(system) | (cluster_cells(system.cluster) if system.cluster is not None else {})


def live_of(system: System) -> NodesEvent:
    every = (*system.nodes, *system.processes)
    badges = {key_of(one): BADGES[one.life] for one in every}
    if system.cluster is not None:
        badges |= cluster_badges(system.cluster)
    return NodesEvent(system.at, shape_of(system), every_cell(system), badges, points_of(system))


def shape_of(system: System) -> str:
    """The rows and hints of the page."""
    rows = [*(key_of(one) for one in (*system.nodes, *system.processes)), *(one.code for one in system.hints)]
    return " ".join([*rows, *(cluster_shape(system.cluster) if system.cluster is not None else ())])


def points_of(system: System) -> Figures:
    totals = system.totals
    names = ("pages_s", "queued", "words_lag_s", "facts_lag_s", "errors_min", "rss")
    points = {name: totals[name] for name in names if name in totals}
    used = totals.get("memory_total", 0) - totals.get("memory_free", 0)
    return points | {"cpu": max((one.figures.get("cpu", 0) for one in system.nodes), default=0), "memory_used": used}


def minutes_of(history: HourHistory) -> Iterator[tuple[str, Sequence[str]]]:
    """Newest first, without minutes in which nothing ran."""
    names = [name for name, _ in MINUTES]
    rows = zip(history.at, *(history.series[name] for name in names), strict=True)
    for at, *values in reversed([*rows]):
        if any(value is not None for value in values):
            texts = ["" if value is None else figure(name, value) for name, value in zip(names, values, strict=True)]
            yield moment(at // SECOND * SECOND)[11:16], texts


MOST_STREAMS = 32
LOOK_S = 0.25
"""Interval at which a stream checks whether its client has left or the server is stopping."""
RETRY_MS = 2000
LIVE_FULL = "Too many live connections are open. The page itself can still be read.\n"
KEEP_ALIVE = b": not just now\n\n"


@dataclass(slots=True)
class LiveFeed:
    """The latest event, made at most once in `every_s` seconds for all streams together; `make` runs on a thread."""

    make: Callable[[], bytes]
    clock: Clock
    is_ending: Callable[[], bool]
    every_s: float = 1.0
    most: int = MOST_STREAMS
    watched: Callable[[int], None] = lambda _streams: None
    streams: int = 0
    _made: bytes = b""
    _made_s: float | None = None
    _turn: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)

    async def latest(self) -> bytes:
        """The event, or a comment that keeps the connection open when it cannot be made."""
        async with self._turn:
            now_s = self.clock.elapsed_s()
            if self._made_s is None or now_s - self._made_s >= self.every_s - LOOK_S / 2:
                self._made_s = now_s
                try:
                    self._made = b"data: " + await asyncio.to_thread(self.make) + b"\n\n"
                except GossamerError:
                    self._made = KEEP_ALIVE
            return self._made

    async def follow(self, request: Request) -> AsyncIterator[bytes]:
        """Events until the client leaves or the server stops."""
        yield b"retry: %d\n\n" % RETRY_MS
        looks = max(1, round(self.every_s / LOOK_S))
        while True:
            yield await self.latest()
            for _ in range(looks):
                await self.clock.sleep(LOOK_S)
                if self.is_ending() or await request.is_disconnected():
                    return


class LiveStream(StreamingResponse):
    """The stream of one client; refused when too many are open."""

    def __init__(self, feed: LiveFeed, request: Request) -> None:
        super().__init__(feed.follow(request), media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        feed = self._feed
        if feed.streams >= feed.most:
            await PlainTextResponse(LIVE_FULL, 503, {"Retry-After": "5"})(scope, receive, send)
            return
        feed.streams += 1
        feed.watched(feed.streams)
        try:
            await super().__call__(scope, receive, send)
        finally:
            feed.streams -= 1
            feed.watched(feed.streams)
