"""What a frontier tells of URLs and hosts, as values."""

from typing import Literal

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url


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
