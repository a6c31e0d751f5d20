"""What the web site is made of: one collection, who may enter, and what only a site has."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gossamer.base.clock import SECOND
from gossamer.base.tell import Tell, silent
from gossamer.collection.collection import Collection
from gossamer.web.access.tokens import Access
from gossamer.web.search.page import Reply, SearchQuestion


async def nowhere(_question: SearchQuestion) -> Reply | None:
    """There is no process that does nothing but search."""
    return None


@dataclass(frozen=True, slots=True)
class WebSite:
    collection: Collection
    door: Access = field(default_factory=Access)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Names this site answers to; anything else is refused (DNS rebinding)."""
    suggestions: tuple[str, ...] = ()
    search_elsewhere: Callable[[SearchQuestion], Awaitable[Reply | None]] = nowhere
    """The answer of a process that does nothing but search; None while there is none."""
    tell: Tell = silent
    is_ending: Callable[[], bool] = lambda: False
    """Whether the server has been asked to stop: streams without an end look."""


SILENT_AFTER_S = 5.0
LAGGING = ("crawler", "indexer")
"""The crawler knows since when pages wait for the indexer, the indexer since when they wait for a commit."""


def state_of(collection: Collection) -> str:
    """In a word or two, from the crawler's last beat."""
    for beat in collection.beats():
        if beat.name == "crawler" and beat.facts.get("state") != "ended":
            return "running" if collection.outside.clock.now() - beat.at < SILENT_AFTER_S * SECOND else "interrupted"
    return "at rest"


def numbers_of(collection: Collection) -> dict[str, float]:
    counts = collection.counts()
    numbers: dict[str, float] = {
        name: getattr(counts, name) for name in ("known", "queued", "leased", "settled", "hosts", "captures", "pages")
    }
    living = [beat.facts for beat in collection.beats() if beat.name in LAGGING and beat.facts.get("state") != "ended"]
    lags = [float(str(facts["lag_s"])) for facts in living if "lag_s" in facts]
    return numbers | ({"lag_s": max(lags)} if lags else {})
