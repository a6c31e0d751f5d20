"""What the web pages are given: a handful of functions, picked in `cli/serve.py` (`web_rooms`)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gossamer.base.clock import SECOND, Clock
from gossamer.base.tell import Tell, silent
from gossamer.collection.exports import Exports
from gossamer.collection.views import SparqlAsk
from gossamer.monitor.control import Beat
from gossamer.values.capture import Kept
from gossamer.values.link import Link
from gossamer.values.url import Url
from gossamer.values.visit import Counts
from gossamer.views.links.reader import Anchor, Incoming
from gossamer.views.words.searcher import Stored
from gossamer.web.access.tokens import Access
from gossamer.web.crawl.rooms import CrawlRooms
from gossamer.web.entities.vocabulary_rooms import VocabularyRooms
from gossamer.web.nodes.rooms import MonitorRooms
from gossamer.web.page.history_rooms import HistoryRooms
from gossamer.web.page.rooms import PageRooms
from gossamer.web.search.page import Find
from gossamer.web.search.rooms import SearchRooms


@dataclass(frozen=True, slots=True)
class WebRooms:
    find: Find
    stored: Callable[[Url], Stored | None]
    versions: Callable[[Url], list[Kept]]
    pages_among: Callable[[Iterable[Url]], set[Url]]
    """Those of which something was captured, so that the page view has something to show."""
    about: Callable[[Url], tuple[Incoming, list[Anchor]]]
    """Who points to a page, and with which words."""
    outgoing: Callable[[Url], list[Link]]
    ask: SparqlAsk
    counts: Callable[[], Counts]
    beats: Callable[[], list[Beat]]
    clock: Clock
    dates: Clock
    """What is compared with a date in the collection; another one than `clock` in a demonstration only."""
    sparql_s: float
    suggestions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Names this page answers to; anything else is refused (DNS rebinding)."""
    tell: Tell = silent
    searching: SearchRooms = field(default_factory=SearchRooms)
    vocabularies: VocabularyRooms = field(default_factory=VocabularyRooms)
    door: Access = field(default_factory=Access)
    monitor: MonitorRooms = field(default_factory=MonitorRooms)
    exports: Exports | None = None
    crawl: CrawlRooms = field(default_factory=CrawlRooms)
    pages: PageRooms = field(default_factory=PageRooms)
    history: HistoryRooms = field(default_factory=HistoryRooms)


SILENT_AFTER_S = 5.0
LAGGING = ("crawler", "indexer")
"""The crawler knows since when pages wait for the indexer, the indexer since when they wait for a commit."""


def state_of(rooms: WebRooms) -> str:
    """In a word or two, from the crawler's last beat."""
    for beat in rooms.beats():
        if beat.name == "crawler" and beat.facts.get("state") != "ended":
            return "running" if rooms.clock.now() - beat.at < SILENT_AFTER_S * SECOND else "interrupted"
    return "at rest"


def numbers_of(rooms: WebRooms) -> dict[str, float]:
    counts = rooms.counts()
    numbers: dict[str, float] = {
        name: getattr(counts, name) for name in ("known", "queued", "leased", "settled", "hosts", "captures", "pages")
    }
    living = [beat.facts for beat in rooms.beats() if beat.name in LAGGING and beat.facts.get("state") != "ended"]
    lags = [float(str(facts["lag_s"])) for facts in living if "lag_s" in facts]
    return numbers | ({"lag_s": max(lags)} if lags else {})
