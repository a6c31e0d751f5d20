"""What the journey asks of a frontier, and what a frontier reports of URLs and hosts."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType
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
    """Which addresses are known, which are due, and when each host may be touched.

    Real ones: `SqliteFrontier`, of one crawler, and `PostgresFrontier`, which many crawlers share.
    """

    async def offer(self, offers: Sequence[Offer], pages: Mapping[int, Url] = MappingProxyType({})) -> int:
        """Addresses, some perhaps new (seeds; links come with `settle`). Says how many were not met lately. `pages`:
        those they were met on, by id, where there are any."""
        ...

    async def take(self, at_most: int) -> list[Visit]:
        """Lease visits that are due and polite, at most one a host.

        The leases and the hosts' earliest next instants are on disk before this returns. Where an origin's
        robots.txt is unknown or has expired, the visit handed out is the one to its robots.txt. Hosts come by their
        bands: the better ones more often, none never. Within a host the better address goes first.
        """
        ...

    async def settle(self, done: Sequence[Settled]) -> None:
        """Outcomes, links, captures and politeness in one transaction: the acknowledgement. Leases returned.

        Raises LeaseLost, and writes nothing, when another crawler has taken over the lease of one of these fetches.
        """
        ...

    async def next_at(self) -> Instant | None:
        """The earliest instant at which `take` may find something. None: nothing is left to be handed out, now or
        later, and nothing is leased. What waits at retired hosts or in quarantine is not handed out."""
        ...

    async def counts(self) -> Counts: ...

    async def revive(self, seeds: Sequence[Url]) -> int:
        """At the start of a run: another chance for seeds that failed, and for hosts that were given up."""
        ...

    async def recall(self) -> int:
        """Pages that were fetched and wait for nothing are due: the crawl comes back to them. Says how many."""
        ...

    async def requeue(self, selection: Selection) -> int:
        """URLs that were visited or refused wait again, as if they had never failed, and those that wait for a later
        time come now; says how many. Flat in memory, in many transactions. Politeness and the order within a host are
        not touched; what is held in quarantine or at a retired host stays there."""
        ...

    async def refetch(self, urls: Sequence[Url]) -> int:
        """Pages whose stored content is damaged are due; the next response is stored whole, even if it is unchanged.
        Returns how many of them were known and not due already."""
        ...

    async def ended(self, selection: Selection) -> list[EndedGroup]:
        """How the URLs of a selection ended: what `requeue` would move, and some that wait already."""
        ...

    async def failures(self, url: Url) -> list[Failure]:
        """Failed visits to a URL before its last one, at most ten, the newest first."""
        ...

    async def pasts(self, urls: Sequence[Url]) -> list[Past | None]:
        """What is remembered of each of these pages; None: nothing is."""
        ...

    async def hasten(self, sooner: Sequence[Reschedule]) -> int:
        """Pages that wait for a later time come sooner; says how many. One that is due or on lease already, held in
        quarantine, or not remembered stays where it is. Politeness and the order within the host are not touched."""
        ...

    async def plans(self) -> dict[tuple[str, int], int]:
        """How many pages wait for each day (since 1970, UTC) at each host, as far as their time has not come."""
        ...

    async def retire(self, host: str, why: str) -> bool:
        """Nothing at the host is handed out any more. False: it is unknown, or was retired before."""
        ...

    async def reinstate(self, host: str) -> bool:
        """It is visited again. False: it is unknown, or not retired."""
        ...

    async def quarantine(self, host: str, template: str) -> int:
        """Addresses of this pattern wait outside the queue from now on; says how many were held back at once."""
        ...

    async def release(self, host: str, template: str) -> int:
        """They wait for their turn again; says how many."""
        ...

    async def awaited(self) -> "Awaited | None":
        """The fetch that a crawl with nothing to do waits for; None: nothing waits."""
        ...

    def holds(self, visit: Visit) -> bool:
        """Whether this crawler still has the lease of this fetch, so that no other can be at its host. Checked right
        before a connection is opened, and before a request is sent."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def set_rules(self, may_enter: Callable[[Offer], bool], nudge: Callable[[Offer], int] | None = None) -> None:
        """From now on these rules judge what is offered; what was refused before may be offered again."""
        ...


class LeaseLost(GossamerError):
    """The leases of these fetches have gone to another crawler: this one was silent for too long. It fetches them."""

    def __init__(self, urls: Sequence[Url]) -> None:
        named = ", ".join(url.text for url in urls[:3]) + (" ..." if len(urls) > 3 else "")
        super().__init__(f"{counted(len(urls), 'lease')} went to another crawler, which fetches {named} again")
        self.urls = tuple(urls)


class FrontierRules(msgspec.Struct, frozen=True):
    """What a frontier decides by, whatever stores it."""

    politeness: Politeness
    may_enter: Callable[[Offer], bool]
    """Judges an offered URL. It is pure, and asked only for URLs that were not seen recently."""
    nudge: Callable[[Offer], int] | None = None
    """What the user's rules add to the priority of an offer."""
    keys: UrlKeys = UrlKeys()
    template_of: Callable[[str], str] | None = None
    """The pattern of a URL; None: nothing can be quarantined."""
    judge_template: Callable[[TemplateTally], bool] | None = None
    """Whether URLs of a template that has brought this are to be quarantined."""
    budget: SiteBudget = SiteBudget()
    resolve: Resolve | None = None
    """The IP address of a host name, or None. Without it each host counts as having one of its own."""
    chance: Chance = msgspec.field(default_factory=lambda: seeded(0))
    seen_slots: int = 1 << 20
    """URLs remembered in memory, eight bytes each; a power of two."""


class KnownState(msgspec.Struct, frozen=True):
    url: Url
    """As it was met first, which may be spelt otherwise than it was asked for."""
    how: How
    source: Url | None
    """The address it was first met on; None for seeds, and for what a robots.txt named."""
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
    """Whether it waits in quarantine."""
    priority: int | None = None
    """Among those that wait at its host; None: it does not wait."""
    later_at: Instant | None = None
    """Its turn does not come before."""


class Preview(msgspec.Struct, frozen=True):
    """What a rule would do to the addresses that wait."""

    queued: int
    matched: int
    examples: tuple[str, ...]


class Ledger(msgspec.Struct, frozen=True):
    """What a host was promised, and what it got. Gaps are from the end of one visit to the start of the next."""

    host: str
    visits: int
    gap_s: float
    """As promised at its last visit."""
    least_gap_s: float | None
    """None: it has been visited once at most."""
    mean_gap_s: float | None
    broken: int
    """Visits that began before the promised instant."""


class HostState(msgspec.Struct, frozen=True):
    name: str
    queued: int
    held: int
    """Addresses in quarantine."""
    errands: int
    leased: bool
    has_back_queue: bool
    band: int
    next_at: Instant
    """Not touched before."""
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
    """A pattern of addresses, and what it has brought."""

    host: str
    template: str
    fetched: int
    fruitful: int
    held: int
    quarantined_at: Instant | None


class Awaited(msgspec.Struct, frozen=True):
    what: Literal["retry", "robots", "revisit", "back-off", "gap"]
    url: str
    until_at: Instant
    why: str = ""
    """How the last visit failed, where that is the reason."""
