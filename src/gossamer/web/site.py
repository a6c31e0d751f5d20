"""The web site of one collection: its access rules, its settings, and the numbers every page shares."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gossamer.base.clock import SECOND
from gossamer.base.tell import Tell, silent
from gossamer.collection.collection import Collection
from gossamer.web.access.tokens import Access
from gossamer.web.search.answer import Reply, SearchQuestion


async def no_search_process(_question: SearchQuestion) -> Reply | None:
    return None


@dataclass(frozen=True, slots=True)
class WebSite:
    collection: Collection
    door: Access = field(default_factory=Access)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """The host names of this site; requests for any other are refused (DNS rebinding)."""
    suggestions: tuple[str, ...] = ()
    search_elsewhere: Callable[[SearchQuestion], Awaitable[Reply | None]] = no_search_process
    """The reply of a search process; None if there is none."""
    tell: Tell = silent
    is_ending: Callable[[], bool] = lambda: False
    """Whether the server is stopping; endless streams check it."""


SILENT_AFTER_S = 5.0
LAGGING = ("crawler", "indexer")
"""The crawler measures how long pages wait for the indexer, the indexer how long they wait for a commit."""


def state_of(collection: Collection) -> str:
    """The state of the crawl as a label, from the crawler's last heartbeat."""
    for beat in collection.beats():
        if beat.name == "crawler" and beat.facts.get("state") != "ended":
            return "running" if collection.outside.clock.now() - beat.at < SILENT_AFTER_S * SECOND else "interrupted"
    return "idle"


def numbers_of(collection: Collection) -> dict[str, float]:
    counts = collection.counts()
    numbers: dict[str, float] = {
        name: getattr(counts, name) for name in ("known", "queued", "leased", "settled", "hosts", "captures", "pages")
    }
    living = [beat.facts for beat in collection.beats() if beat.name in LAGGING and beat.facts.get("state") != "ended"]
    lags = [float(str(facts["lag_s"])) for facts in living if "lag_s" in facts]
    return numbers | ({"lag_s": max(lags)} if lags else {})
