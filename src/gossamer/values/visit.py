"""A visit (one leased intention to fetch one URL), its result, and selections of results."""

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
"""The beginning of the detail of a result whose URL is revisited after any response."""


class VisitKind(StrEnum):
    PAGE = "page"
    ROBOTS = "robots"
    LIST = "list"
    """For the client only: something named as a sitemap, of any media type, compressed or not."""


class Visit(msgspec.Struct, frozen=True):
    url: Url
    kind: VisitKind
    taken_at: Instant
    depth: int = 0
    hops: int = 0
    failures: int = 0
    """Consecutive earlier failures of this URL (or of this robots.txt)."""
    robots: Robots | None = None
    """Pages: the rules of their origin, always present. Robots visits: the expired or pending entry, if any."""

    how: How = How.LINK
    """How the URL was found."""
    host_failing: int = 0
    """Consecutive failed visits to its host before this one."""
    host_failing_since: Instant | None = None
    is_followed: bool = False
    """It is revisited, as its last result says (`FOLLOWED`)."""
    past: Past | None = None
    """What is remembered from earlier visits, if it is revisited."""
    priority: int | None = None
    """Its rank among the waiting pages of its host, which reflects links, sitemaps and the user's rules."""
    claim: ListClaim | None = None
    """What a sitemap or feed says about its changes."""

    @property
    def origin(self) -> str:
        """The origin whose rules apply to this visit, or whose robots.txt it requests."""
        return self.robots.origin if self.robots is not None else self.url.origin


class Yield(msgspec.Struct, frozen=True):
    """What was new on a page; used to tell endless series from large catalogues."""

    template: str
    """The URL pattern it shares with similar pages."""
    has_new_text: bool
    has_new_facts: bool
    has_new_links: bool = False
    """Nothing new itself, but links to new URLs of a kind that did bring something: a list."""

    @property
    def is_fruitful(self) -> bool:
        return self.has_new_text or self.has_new_facts or self.has_new_links


class Settled(msgspec.Struct, frozen=True):
    """The result of a visit, as the frontier stores it. Large bodies are in the archive already."""

    visit: Visit
    reason: Reason
    done_at: Instant
    detail: str = ""
    took_s: float = 0.0
    cpu_s: float = 0.0
    """CPU time of reading the answer."""
    due_at: Instant | None = None
    """When to try or visit again; None: never."""
    host_wait_s: float | None = None
    """An additional wait for the host, requested or earned."""
    offers: tuple[Offer, ...] = ()
    kept: Kept | None = None
    withdraws: bool = False
    """It removes the page from the views: it is gone, or asks not to be indexed."""
    robots: Robots | None = None
    """The new entry, for a robots visit."""
    yielded: Yield | None = None
    respelt: Url | None = None
    """It redirects to another spelling of itself, which replaces the URL."""
    is_host_fault: bool = False
    """Its host is down: the failure does not count against the URL."""
    past: Past | None = None
    """What to remember from now on; None: no change."""
    busy_s: float | None = None
    """How long the host was busy with it, if not all of `took_s`."""

    @property
    def counted_s(self) -> float:
        """The time that the host's gap is a multiple of."""
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
    """Quarantined URLs (possible trap); they are not among the queued."""
    retired: int = 0
    """Hosts that are no longer visited."""
    by_reason: dict[str, int] = {}


class TemplateTally(msgspec.Struct, frozen=True):
    """What visits to URLs of one template on one host have brought so far."""

    host: str
    template: str
    fetched: int
    """Visits that were read."""
    fruitful: int
    """Those of them with new text or facts."""


class Selection(msgspec.Struct, frozen=True):
    """Which URLs with a result are meant. Empty fields do not narrow it: an empty selection means all."""

    reasons: frozenset[Reason] = frozenset()
    host: str = ""
    urls: tuple[Url, ...] = ()
    hows: frozenset[How] = frozenset()
    """How they were found."""


class EndedGroup(msgspec.Struct, frozen=True):
    """URLs of a selection whose last visits ended alike."""

    reason: Reason
    urls: int
    examples: tuple[str, ...] = ()
    details: tuple[tuple[str, int], ...] = ()
    """The most frequent details stored with these results, with their counts."""


class Failure(msgspec.Struct, frozen=True):
    """An earlier failed visit to a URL."""

    at: Instant
    reason: Reason
    detail: str = ""
