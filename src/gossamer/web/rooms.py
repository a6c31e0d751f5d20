"""What the web pages are given: a handful of functions, picked in `app.assemble`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gossamer.clock import SECOND, Clock
from gossamer.graph.sparql import SparqlResult
from gossamer.index.searcher import Stored
from gossamer.links.reader import Anchor, Incoming
from gossamer.monitor.control import Beat
from gossamer.search.find import Answer
from gossamer.values.capture import Kept
from gossamer.values.link import Link
from gossamer.values.query import Query
from gossamer.values.url import Url
from gossamer.values.visit import Counts


@dataclass(frozen=True, slots=True)
class WebRooms:
    find: Callable[[Query], Answer]
    stored: Callable[[Url], Stored | None]
    versions: Callable[[Url], list[Kept]]
    about: Callable[[Url], tuple[Incoming, list[Anchor]]]
    """Who points to a page, and with which words."""
    outgoing: Callable[[Url], list[Link]]
    ask: Callable[[str, str], Awaitable[SparqlResult]]
    """(query, accepted media type) -> result."""
    counts: Callable[[], Counts]
    beats: Callable[[], list[Beat]]
    clock: Clock
    sparql_s: float
    suggestions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Names this page answers to; anything else is refused (DNS rebinding)."""


SILENT_AFTER_S = 5.0


def beats_of(rooms: WebRooms) -> list[dict[str, object]]:
    now = rooms.clock.now()
    return [
        {
            "name": beat.name,
            "pid": beat.pid,
            "age_s": max(0.0, (now - beat.at) / SECOND),
            "says": ", ".join(f"{name} {value}" for name, value in beat.facts.items()),
        }
        for beat in rooms.beats()
    ]


def state_of(rooms: WebRooms) -> str:
    """In one word, from the crawler's last beat."""
    ages = [float(str(beat["age_s"])) for beat in beats_of(rooms) if beat["name"] == "crawler"]
    return "running" if ages and min(ages) < SILENT_AFTER_S else "at rest"


def numbers_of(rooms: WebRooms) -> dict[str, float]:
    counts = rooms.counts()
    numbers: dict[str, float] = {
        name: getattr(counts, name) for name in ("known", "queued", "leased", "settled", "hosts", "captures", "pages")
    }
    for beat in rooms.beats():
        if beat.name == "indexer" and "lag_s" in beat.facts:
            numbers["lag_s"] = float(str(beat.facts["lag_s"]))
    return numbers
