"""What the journey asks of a frontier."""

from collections.abc import Sequence
from typing import Protocol

from gossamer.clock import Instant
from gossamer.values.link import Offer
from gossamer.values.visit import Counts, Settled, Visit


class Frontier(Protocol):
    """Which addresses are known, which are due, and when each host may be touched. Real one: `sqlite.py`.

    One frontier, one crawl. The crawler is its only writer. `postgres.py` will pass the same contract suite.
    """

    async def offer(self, offers: Sequence[Offer]) -> int:
        """Addresses, some perhaps new (seeds; links come with `settle`). Says how many were not met lately."""
        ...

    async def take(self, at_most: int) -> list[Visit]:
        """Lease visits that are due and polite, at most one a host.

        The leases and the hosts' earliest next instants are on disk before this returns. Where an origin's
        robots.txt is unknown or has expired, the visit handed out is the one to its robots.txt.
        """
        ...

    async def settle(self, done: Sequence[Settled]) -> None:
        """Outcomes, links, captures and politeness in one transaction: the acknowledgement. Leases returned."""
        ...

    async def next_at(self) -> Instant | None:
        """The earliest instant at which `take` may find something. None: nothing is queued and nothing leased."""
        ...

    async def counts(self) -> Counts: ...
