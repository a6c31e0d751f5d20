"""The frontier: what the crawler may ask of it, and what it reports about URLs and hosts."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Protocol, Self

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.environment import Chance, seeded
from gossamer.base.errors import GossamerError
from gossamer.config.slices import Politeness, SiteBudget
from gossamer.frontier.back_queues import Resolve
from gossamer.frontier.rows import UrlKeys
from gossamer.values.format import counted
from gossamer.values.history import Past, Reschedule
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Counts, EndedGroup, Failure, Selection, Settled, TemplateTally, Visit


class Frontier(Protocol):
    """Which URLs are known, which are due, and when something may be sent to each host again.

    A URL is offered, accepted and queued; it is leased as a visit and settled with its result; then it waits for its
    next visit, or for nothing. Real ones: `SqliteFrontier`, of one crawler, and `PostgresFrontier`, which many crawlers
    share. What a method has written is on disk when it returns.
    """

    async def offer(self, offers: Sequence[Offer], pages: Mapping[int, Url] = MappingProxyType({})) -> int:
        """Offer URLs, some perhaps new; returns how many were accepted and not seen recently. Links of visited pages
        come with `settle` instead. `pages`: those the URLs were found on, by id, if any."""

    async def take(self, at_most: int) -> list[Visit]:
        """Lease visits that are due and polite, at most one a host.

        A leased host gets no other visit until this one is settled, and nothing is sent to it before its next instant
        even after a crash. Where the robots.txt of an origin is unknown or has expired, the visit is to that
        robots.txt. The band of the host is drawn at random, better bands more often, none never; within a host the
        better URL goes first.
        """

    async def settle(self, done: Sequence[Settled]) -> None:
        """Store results, links, captures and politeness in one transaction, and return the leases. This acknowledges
        the visits: until then a crash repeats them.

        Raises LeaseLost, and writes nothing, when another crawler has taken over the lease of one of these visits.
        REQUIRES: each visit was taken here and is not settled yet; robots visits come with an entry.
        """

    async def next_at(self) -> Instant | None:
        """The earliest instant at which `take` may find something. None: there is nothing to lease now or later, and
        nothing is leased. Retired hosts and quarantined URLs do not count."""

    async def counts(self) -> Counts: ...

    async def revive(self, seeds: Sequence[Url]) -> int:
        """At the start of a run, queue seeds again that failed for a reason that may be gone, and pages given up
        because of their robots.txt. Returns how many."""

    async def recall(self) -> int:
        """Queue every fetched page that waits for nothing: the crawl revisits pages from now on. Returns how many."""

    async def requeue(self, selection: Selection) -> int:
        """Queue visited or refused URLs again, as if they had never failed, and make those due that wait for a later
        time. Returns how many.

        Constant memory, in many transactions. Politeness and the order within a host do not change; URLs in quarantine
        or at retired hosts stay there.
        """

    async def refetch(self, urls: Sequence[Url]) -> int:
        """Pages whose stored content is damaged are due; the next response is stored whole, even if it is unchanged.
        Returns how many of them were known and not due already."""

    async def ended(self, selection: Selection) -> list[EndedGroup]:
        """How the URLs of a selection ended: those `requeue` would queue, and some that wait already."""

    async def failures(self, url: Url) -> list[Failure]:
        """Failed visits to a URL before its last one, newest first, at most ten."""

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        """What is remembered about each of these pages; None: nothing is."""

    async def reschedule(self, changes: Sequence[Reschedule]) -> int:
        """Make waiting pages due earlier; returns how many moved. Pages that are due, leased, quarantined or not
        remembered do not move. Politeness and the order within a host do not change."""

    async def plans(self) -> dict[tuple[str, int], int]:
        """How many pages wait for each day (since 1970, UTC) at each host; those due already do not count."""

    async def retire(self, host: str, why: str) -> bool:
        """Stop leasing visits at a host. False: it is unknown, or already retired."""

    async def reinstate(self, host: str) -> bool:
        """Visit a retired host again. False: it is unknown, or not retired."""

    async def quarantine(self, host: str, template: str) -> int:
        """Keep the URLs of a template out of the queue from now on; returns how many left it at once."""

    async def release(self, host: str, template: str) -> int:
        """End the quarantine of a template; returns how many URLs are queued again."""

    async def awaited(self) -> "Awaited | None":
        """The next visit, and why it is not made yet, for a crawl that has nothing to do. None: no URL waits."""

    def holds(self, visit: Visit) -> bool:
        """Whether this crawler still has the lease of this visit, so that no other can be at its host. Checked right
        before a connection is opened, and before a request is sent."""

    async def __aenter__(self) -> Self:
        """Recover what the last run left; leases from before a crash return to their queues after a full gap."""

    async def __aexit__(self, *_: object) -> None:
        """Return the leases that are not settled."""

    def set_rules(self, may_enter: Callable[[Offer], bool], nudge: Callable[[Offer], int] | None = None) -> None:
        """From now on these rules judge offers; URLs that were refused before may be offered again."""


class LeaseLost(GossamerError):
    """The leases of these fetches have gone to another crawler: this one was silent for too long. It fetches them."""

    def __init__(self, urls: Sequence[Url]) -> None:
        named = ", ".join(url.text for url in urls[:3]) + (" ..." if len(urls) > 3 else "")
        super().__init__(f"{counted(len(urls), 'lease')} went to another crawler, which fetches {named} again")
        self.urls = tuple(urls)


class FrontierRules(msgspec.Struct, frozen=True):
    """What a frontier decides by, in SQLite or in PostgreSQL."""

    politeness: Politeness
    may_enter: Callable[[Offer], bool]
    """Judges an offered URL. Pure, and called only for URLs that were not seen recently."""
    nudge: Callable[[Offer], int] | None = None
    """What the user's rules add to the priority of an offer."""
    keys: UrlKeys = UrlKeys()
    template_of: Callable[[str], str] | None = None
    """The template of a URL; None: nothing can be quarantined."""
    judge_template: Callable[[TemplateTally], bool] | None = None
    """Whether a template that has brought this must be quarantined."""
    budget: SiteBudget = SiteBudget()
    resolve: Resolve | None = None
    """The IP address of a host name, or None. Without it each host counts as having an address of its own."""
    chance: Chance = msgspec.field(default_factory=lambda: seeded(0))
    is_near: Callable[[str], bool] | None = None
    """Whether this crawler is among those that rules prefer for a host; None: for every host. In SQLite it has no
    effect, for there is one crawler."""
    seen_slots: int = 1 << 20
    """URLs remembered in memory, eight bytes each; a power of two."""


class KnownState(msgspec.Struct, frozen=True):
    """All that is stored about a URL."""

    url: Url
    """In the spelling it was first found in."""
    how: How
    source: Url | None
    """The page it was first found on; None for seeds, and for sitemaps that a robots.txt names."""
    source_id: int | None
    depth: int
    hops: int
    failures: int
    reason: Reason | None
    """How its last visit ended; None: not visited yet."""
    detail: str
    settled_at: Instant | None
    due_at: Instant | None
    is_queued: bool
    is_held: bool = False
    """It is in quarantine."""
    priority: int | None = None
    """Among the waiting URLs of its host; None: it does not wait."""
    later_at: Instant | None = None
    """It is not due before."""


class Ledger(msgspec.Struct, frozen=True):
    """What a host was promised, and what it got. Gaps are from the end of one visit to the start of the next."""

    host: str
    visits: int
    gap_s: float
    """As promised at its last visit."""
    least_gap_s: float | None
    """None: it was visited at most once."""
    mean_gap_s: float | None
    broken: int
    """Visits that began before the promised instant."""


class HostState(msgspec.Struct, frozen=True):
    """All that is stored about a host."""

    name: str
    queued: int
    held: int
    """URLs in quarantine."""
    errands: int
    """robots.txt requests to make here because other hosts redirect theirs."""
    leased: bool
    has_back_queue: bool
    band: int
    next_at: Instant
    """No request is sent to it before."""
    ready_at: Instant | None
    """When it may leave its front queue; None: it is in none."""
    later_at: Instant | None
    gap_s: float
    crawl_delay_s: float | None
    troubles: int
    failing: int
    failing_since: Instant | None
    retired_at: Instant | None
    retired_why: str | None
    visits: int
    spent_s: float
    links_in: int
    """About how many other hosts were seen linking to it."""


class Template(msgspec.Struct, frozen=True):
    """A pattern of URLs, and what it has brought."""

    host: str
    template: str
    fetched: int
    fruitful: int
    held: int
    quarantined_at: Instant | None


class Awaited(msgspec.Struct, frozen=True):
    """The next visit, and why it is not made yet."""

    what: Literal["retry", "robots", "revisit", "back-off", "gap"]
    url: str
    until_at: Instant
    why: str = ""
    """How the last visit failed, if that is the reason."""
