"""What the crawl's pages are given: the state of the crawl, its lists, and ways to change it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import GossamerError
from gossamer.frontier.reports import Order
from gossamer.rules.scope import Reach
from gossamer.values.outcome import Reason

Verb = Literal["pause", "resume", "stop"]
HostAction = Literal["retire", "reinstate", "release", "exclude"]
NOT_HERE = "This server was started without crawl control."


class Crawler(msgspec.Struct, frozen=True):
    """Who crawls, or did last."""

    is_alive: bool = False
    """A crawler is at work on this collection, whoever started it."""
    is_starting: bool = False
    """This page started one, and nothing has been heard of it yet."""
    is_stopping: bool = False
    """It was asked to end from here, and has not yet."""
    is_ours: bool = False
    """This server started it, and ends it when it ends itself."""
    holder: str = ""
    """Who writes to the collection: which process, doing what, since when. Nobody, when empty."""
    ended: str = ""
    """How the crawler that was started from here ended, in words; empty when none has."""
    has_failed: bool = False
    log: tuple[str, ...] = ()
    """The last lines it wrote."""
    waits: str = ""
    """What it waits for while it has nothing to do, until when and why."""


class Seed(msgspec.Struct, frozen=True):
    url: str
    reach: str


class CrawlState(msgspec.Struct, frozen=True):
    crawler: Crawler = Crawler()
    seeds: tuple[Seed, ...] = ()
    seed_count: int = 0
    """Of which the first are listed."""
    contact: str = ""
    """Where site owners reach whoever crawls; without it public sites are not visited."""
    reach: str = Reach.HOST
    """How far links are followed from a new seed, unless another reach is chosen."""
    rules: int = 0


class SeedsTaken(msgspec.Struct, frozen=True):
    taken: int
    left_out: tuple[str, ...] = ()
    """Why each of the others was, in words."""


class VisitsAsked(msgspec.Struct, frozen=True):
    reasons: tuple[Reason, ...] = ()
    """None: all."""
    host: str = ""
    text: str = ""
    """In the address, whatever its case."""
    status: int | None = None
    """The first digit."""
    media_type: str = ""
    since_at: Instant | None = None
    until_at: Instant | None = None
    is_newest_first: bool = True
    after: str = ""
    """The position of the last visit that was shown."""
    most: int = 50


class ListedVisit(msgspec.Struct, frozen=True):
    url: str
    host: str
    outcome: str
    """A reason code."""
    says: str
    detail: str
    ended_at: Instant
    due_at: Instant | None
    """It will be visited again then."""
    failures: int
    how: str
    depth: int
    status: int | None
    """Of the answer that was kept, if one was."""
    media_type: str
    size: int | None
    facts: int | None
    """None: it is not in the index."""
    position: str


class VisitsFound(msgspec.Struct, frozen=True):
    visits: tuple[ListedVisit, ...] = ()
    next: str = ""
    """The position to go on from; empty at the end."""
    looked_at: int = 0
    is_cut: bool = False
    """The search through the visits was broken off before it had found enough: it goes on from `next`."""
    reached_at: Instant | None = None
    """How far back it came."""


class PagesAsked(msgspec.Struct, frozen=True):
    host: str = ""
    after: str = ""
    """The position of the last page that was shown."""
    most: int = 50


class ListedPage(msgspec.Struct, frozen=True):
    url: str
    fetched_at: Instant
    """Of the newest version that counts."""
    media_type: str
    size: int


class PagesFound(msgspec.Struct, frozen=True):
    pages: tuple[ListedPage, ...] = ()
    next: str = ""
    """The position to go on from; empty at the end."""


class HostsAsked(msgspec.Struct, frozen=True):
    text: str = ""
    state: str = ""
    order: Order = "queued"
    after: str = ""
    most: int = 50


class ListedHost(msgspec.Struct, frozen=True):
    host: str
    state: str
    """ready, under-way, waiting, backing-off, over-budget, retired, done"""
    says: str
    queued: int
    visits: int
    troubles: int
    """Visits that failed and are not forgiven yet."""
    gap_s: float
    """Promised: the least rest between two visits."""
    least_gap_s: float | None
    """Kept: the shortest rest it had."""
    broken: int
    """Visits that began too early."""
    robots: str
    """read, missing, pending, unreachable; empty: not asked for yet."""
    held: int
    traps: tuple[str, ...]
    """The patterns because of which addresses are held back."""
    next_at: Instant | None
    position: str


class HostsFound(msgspec.Struct, frozen=True):
    hosts: tuple[ListedHost, ...] = ()
    states: dict[str, int] = {}
    """How many hosts are in each state; empty when there are too many hosts to count."""
    next: str = ""


class Wrong(msgspec.Struct, frozen=True):
    """A line that is no rule."""

    line: int
    column: int
    says: str
    text: str


class Effect(msgspec.Struct, frozen=True):
    """What rules would do to the addresses that wait, beyond what those in force do."""

    queued: int
    looked_at: int
    would_go: int
    examples: tuple[tuple[str, str], ...]
    """Addresses, and the rule that keeps each out."""
    is_whole: bool


class RuleSet(msgspec.Struct, frozen=True):
    text: str = ""
    mark: str = ""
    """Of the text: who saves names the mark of what was edited, so that nobody's work is overwritten unseen."""
    before: str | None = None
    """The rules before the last save."""
    wrong: tuple[Wrong, ...] = ()


class RulesChanged(GossamerError):
    """Somebody else has saved the rules meanwhile."""


def no_standing() -> CrawlState:
    return CrawlState()


def no_rules() -> RuleSet:
    return RuleSet()


def no_visits(_asked: VisitsAsked) -> VisitsFound:
    return VisitsFound()


def no_pages(_asked: PagesAsked) -> PagesFound:
    return PagesFound()


def no_hosts(_asked: HostsAsked) -> HostsFound:
    return HostsFound()


def nothing_wrong(_text: str) -> tuple[Wrong, ...]:
    return ()


def no_effect(_text: str, _seconds: float) -> Effect:
    return Effect(0, 0, 0, (), True)


async def not_here(*_: object) -> str:
    raise GossamerError(NOT_HERE)


async def no_seeds(_texts: Sequence[str], _reach: str, _contact: str) -> SeedsTaken:
    raise GossamerError(NOT_HERE)


@dataclass(frozen=True, slots=True)
class CrawlRooms:
    """What changes something raises GossamerError, with words fit for the person who asked; else it says what is so
    now. The others read databases, so they are called on a thread."""

    standing: Callable[[], CrawlState] = no_standing
    visits: Callable[[VisitsAsked], VisitsFound] = no_visits
    pages: Callable[[PagesAsked], PagesFound] = no_pages
    hosts: Callable[[HostsAsked], HostsFound] = no_hosts
    rules: Callable[[], RuleSet] = no_rules
    wrong: Callable[[str], tuple[Wrong, ...]] = nothing_wrong
    effect: Callable[[str, float], Effect] = no_effect
    """Of these rules, if they were saved; looked into for so many seconds at most. REQUIRES: nothing wrong in them."""
    start: Callable[[str], Awaitable[str]] = not_here
    """Given a contact, or nothing."""
    ask: Callable[[Verb], Awaitable[str]] = not_here
    add_seeds: Callable[[Sequence[str], str, str], Awaitable[SeedsTaken]] = no_seeds
    """Addresses, their reach, and a contact or nothing."""
    save_rules: Callable[[str, str], Awaitable[str]] = not_here
    """The text, and the mark of the one it was made from. Raises RulesChanged."""
    undo_rules: Callable[[], Awaitable[str]] = not_here
    change_host: Callable[[HostAction, str, str], Awaitable[str]] = not_here
    """The host, and why it is retired or what is released."""
    fetch_again: Callable[[str], Awaitable[str]] = not_here
    """Given a URL that is known."""
