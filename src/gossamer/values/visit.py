"""A visit: one leased intention to fetch one URL, its result, and selections of results."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.capture import Kept
from gossamer.values.history import Past
from gossamer.values.link import How, ListClaim, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url

FOLLOWED = "a feed that is followed"
"""How the detail of an end begins when its address is come back to, whatever it answered this time."""


class VisitKind(StrEnum):
    PAGE = "page"
    ROBOTS = "robots"
    LIST = "list"
    """To the client only: what was named as a sitemap, of whatever media type and compressed or not."""


class Visit(msgspec.Struct, frozen=True):
    url: Url
    kind: VisitKind
    taken_at: Instant
    depth: int = 0
    hops: int = 0
    failures: int = 0
    """How often in a row this address (for a robots visit: this robots.txt) has failed before."""
    robots: Robots | None = None
    """Pages: the rules of their origin, always there. Robots visits: the entry that ran out or is pending, if any."""

    how: How = How.LINK
    """How the address was come by."""
    host_failing: int = 0
    """How many visits to its host in a row have failed before this one."""
    host_failing_since: Instant | None = None
    is_followed: bool = False
    """It is come back to, as its last end says (`FOLLOWED`)."""
    past: Past | None = None
    """What earlier visits left to remember, when it was fetched before and comes again."""
    priority: int | None = None
    """Its place among those that wait at its host: in it is what links, sitemaps and the user's rules say of it."""
    said: ListClaim | None = None
    """What a sitemap or feed says of its changes."""

    @property
    def origin(self) -> str:
        """The origin whose rules this visit obeys, or whose robots.txt it asks for."""
        return self.robots.origin if self.robots is not None else self.url.origin


class Yield(msgspec.Struct, frozen=True):
    """What a page brought that was not known before; from it endless series are told from large catalogues."""

    template: str
    """The pattern its address shares with others of its kind."""
    has_new_text: bool
    has_new_facts: bool
    has_new_links: bool = False
    """It says nothing new itself, and leads to new addresses of a kind that did: a list of things."""

    @property
    def is_fruitful(self) -> bool:
        return self.has_new_text or self.has_new_facts or self.has_new_links


class Settled(msgspec.Struct, frozen=True):
    """A visit's end, as the frontier writes it down. Large bodies have been left behind in the archive."""

    visit: Visit
    reason: Reason
    done_at: Instant
    detail: str = ""
    took_s: float = 0.0
    cpu_s: float = 0.0
    """CPU time that reading the answer took."""
    due_at: Instant | None = None
    """When to try or visit again; None: not again."""
    host_wait_s: float | None = None
    """The host asked for, or earned, this much rest on top of its gap."""
    offers: tuple[Offer, ...] = ()
    kept: Kept | None = None
    withdraws: bool = False
    """What was read takes the page out of the views: it is gone, or asks not to be indexed."""
    robots: Robots | None = None
    """The new entry, when this was a robots visit."""
    yielded: Yield | None = None
    respelt: Url | None = None
    """It redirects to another spelling of itself: the address goes on under this text."""
    is_host_fault: bool = False
    """Its host is down: the failure is not counted against the address."""
    past: Past | None = None
    """What is to be remembered from now on; None: what was, is."""
    busy_s: float | None = None
    """How long the host was busy with it, where that is not all of `took_s`."""

    @property
    def counted_s(self) -> float:
        """What the host's gap is a multiple of."""
        return self.took_s if self.busy_s is None else self.busy_s


class Counts(msgspec.Struct, frozen=True):
    """The state of a crawl in numbers."""

    known: int = 0
    queued: int = 0
    leased: int = 0
    settled: int = 0
    hosts: int = 0
    captures: int = 0
    pages: int = 0
    quarantined: int = 0
    """Addresses held back as part of an endless series; they are not among the queued."""
    retired: int = 0
    """Hosts that are visited no more."""
    by_reason: dict[str, int] = {}


class TemplateTally(msgspec.Struct, frozen=True):
    """One template of one host, so far."""

    host: str
    template: str
    fetched: int
    """Visits that were read."""
    fruitful: int
    """Those among them that brought text or facts not known before."""
    met: int
    """Addresses of this pattern counted so far: the visited ones, and those held in quarantine."""


class Selection(msgspec.Struct, frozen=True):
    """What is left empty does not narrow it: an empty selection means every URL that has an end."""

    reasons: frozenset[Reason] = frozenset()
    host: str = ""
    urls: tuple[Url, ...] = ()
    hows: frozenset[How] = frozenset()
    """How they were found."""


class EndedGroup(msgspec.Struct, frozen=True):
    """URLs of a selection whose last visit ended alike."""

    reason: Reason
    urls: int
    examples: tuple[str, ...] = ()
    details: tuple[tuple[str, int], ...] = ()
    """What was stored with these ends, and how often: the most frequent."""


class Failure(msgspec.Struct, frozen=True):
    """An earlier failed visit to a URL."""

    at: Instant
    reason: Reason
    detail: str = ""
