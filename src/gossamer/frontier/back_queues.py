"""Back queues: the hosts that are being crawled, each with the earliest time of its next fetch.

In memory, no IO.

The second half of Mercator's frontier. A host has at most one back queue, so it is never visited twice at once. Hosts
with the same IP address share its limits: visits at once, and time between two starts. A host whose IP address is
unknown counts as having one of its own.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from gossamer.base.clock import Instant
from gossamer.base.tasks import begin
from gossamer.frontier.rows import text_of
from gossamer.values.url import Url

PER_FETCH = 3
"""Back queues for each fetch in flight (Mercator's figure): enough that some host may be visited at any moment."""
TURN = 32
"""Visits to a host before it loses its back queue to a waiting one, or its name is resolved again."""
NEVER: Instant = 1 << 62


@dataclass(slots=True)
class _Back:
    address: "_Address"
    next_at: Instant
    band: int
    visits: int = 0
    is_taken: bool = False


@dataclass(slots=True)
class _Address:
    """An IP address, and those of its hosts that are not leased, by the instant of their next visit."""

    name: str | int
    start_at: Instant = 0
    leased: int = 0
    hosts: list[tuple[Instant, int]] = field(default_factory=list)
    members: int = 0
    listed_at: Instant = NEVER
    """Its newest entry in the heap of addresses; older ones there are skipped."""


class Backs:
    """REQUIRES: per_address >= 1. `apart`: microseconds between two starts. `started_at`: the end of the last run, when
    any IP address may have been visited."""

    def __init__(self, per_address: int, apart: int, turn: int = TURN, started_at: Instant = 0) -> None:
        self._per_address = per_address
        self._apart = apart
        self._turn = turn
        self._started_at = started_at
        self._backs: dict[int, _Back] = {}
        self._addresses: dict[str | int, _Address] = {}
        self._heap: list[tuple[Instant, int, _Address]] = []
        self._listed = 0
        """Counts heap entries, so that equal ones are taken in the order they were added."""

    def __len__(self) -> int:
        return len(self._backs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._backs)

    def __contains__(self, host_id: int) -> bool:
        return host_id in self._backs

    def enter(self, host_id: int, next_at: Instant, address: str | None, band: int) -> None:
        """REQUIRES: the host has no back queue yet."""
        key: str | int = host_id if address is None else address
        found = self._addresses.get(key)
        if found is None:
            start_at = 0 if address is None or not self._started_at else self._started_at + self._apart
            found = self._addresses[key] = _Address(key, start_at)
        found.members += 1
        self._backs[host_id] = _Back(found, next_at, band)
        heapq.heappush(found.hosts, (next_at, host_id))
        self._list(found)

    def leave(self, host_id: int) -> None:
        """The host loses its back queue, if it has one."""
        back = self._backs.pop(host_id, None)
        if back is None:
            return
        address = back.address
        address.members -= 1
        if back.is_taken:
            address.leased -= 1
            self._list(address)
        if not address.members and (address.name == host_id or len(self._addresses) > 2 * len(self._backs) + 1024):
            self._forget_addresses(address)

    def ready(self, now: Instant, at_most: int) -> list[int]:
        """Take out hosts that may be visited now, the longest ready first.

        For each, `leased`, `waits` or `leave` must be called then. Several with one IP address are taken together only
        if its limits let them start together, as if each were leased.
        """
        found: list[int] = []
        while self._heap and len(found) < at_most and self._heap[0][0] <= now:
            at, _, address = heapq.heappop(self._heap)
            if at != address.listed_at:
                continue
            address.listed_at = NEVER
            host_id = self._next_of(address)
            if host_id is None:
                continue
            if max(address.start_at, self._backs[host_id].next_at) > now:  # the host it was listed for has left
                self._list(address)
                continue
            heapq.heappop(address.hosts)
            self._backs[host_id].is_taken = True
            address.leased += 1
            if isinstance(address.name, str):
                address.start_at = now + self._apart
            found.append(host_id)
            self._list(address)
        return found

    def leased(self, host_id: int) -> None:
        self._backs[host_id].visits += 1

    def waits(self, host_id: int, next_at: Instant) -> None:
        """The host's visit is over, or there was none: the next may start at `next_at`."""
        back = self._backs[host_id]
        back.next_at = next_at
        if back.is_taken:
            back.is_taken = False
            back.address.leased -= 1
        heapq.heappush(back.address.hosts, (next_at, host_id))
        self._list(back.address)

    def keep_only(self, host_ids: set[int]) -> None:
        """All other hosts leave; these count as taken out. What is known about IP addresses stays."""
        for host_id in [one for one in self._backs if one not in host_ids]:
            self.leave(host_id)
        for back in self._backs.values():
            if not back.is_taken:
                back.is_taken = True
                back.address.leased += 1
        for address in self._addresses.values():
            self._list(address)

    def is_turn_over(self, host_id: int) -> bool:
        return self._backs[host_id].visits >= self._turn

    def next_at(self) -> Instant | None:
        """The earliest instant at which `ready` may find something."""
        while self._heap and self._heap[0][0] != self._heap[0][2].listed_at:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def shift(self, by: int) -> None:
        """The wall clock was set: every instant keeps its distance from now."""
        self._started_at = max(0, self._started_at + by)
        for back in self._backs.values():
            back.next_at += by
        self._heap.clear()
        for address in self._addresses.values():
            address.start_at += by
            address.hosts = [(at + by, host_id) for at, host_id in address.hosts]
            address.listed_at = NEVER
            self._list(address)

    def _next_of(self, address: _Address) -> int | None:
        """The host of an IP address that is ready first; entries of hosts that left or moved are dropped."""
        hosts = address.hosts
        while hosts:
            at, host_id = hosts[0]
            back = self._backs.get(host_id)
            if back is not None and not back.is_taken and back.next_at == at and back.address is address:
                return host_id
            heapq.heappop(hosts)
        return None

    def _list(self, address: _Address) -> None:
        """Put the IP address at its position in the heap, unless it is there already."""
        host_id = self._next_of(address) if address.leased < self._per_address else None
        at = NEVER if host_id is None else max(address.start_at, self._backs[host_id].next_at)
        if at != address.listed_at:
            address.listed_at = at
            if at != NEVER:
                self._listed += 1
                heapq.heappush(self._heap, (at, self._listed, address))

    def _forget_addresses(self, last: _Address) -> None:
        """Keep an IP address without hosts while its last start may still matter, within bounds."""
        if isinstance(last.name, int):
            del self._addresses[last.name]
            return
        empty = [address for address in self._addresses.values() if not address.members]
        empty.sort(key=lambda address: address.start_at)
        for address in empty[: len(empty) // 2 + 1]:
            del self._addresses[address.name]


def hostname_of(name: str) -> str:
    """A host's name without its port."""
    return Url(text_of(0, name, "")).hostname


Resolve = Callable[[str], Awaitable[str | None]]
MOST_RESOLVING = 256
"""Hosts resolved at one time."""
MOST_RESOLVED = 4096
"""Results kept for hosts that have no back queue yet."""


class Resolving:
    """IP addresses of hosts that are to get back queues: resolved on the event loop, used on the database's thread."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._pending: dict[str, asyncio.Future[None]] = {}
        self._answers: dict[str, str | None] = {}
        self._trouble: BaseException | None = None

    def is_known(self, name: str) -> bool:
        return name in self._answers

    def take(self, name: str) -> str | None:
        """The IP address of a host that gets its back queue now. REQUIRES: it is known."""
        return self._answers.pop(name)

    def busy(self) -> int:
        """How many hosts are being resolved."""
        return len(self._pending)

    def ask(self, names: list[str]) -> None:
        """On the event loop: start to resolve hosts, unless that is in progress. Raises what one of them raised."""
        if self._trouble is not None:
            raise self._trouble
        for name in names[:MOST_RESOLVING]:
            if len(self._pending) >= MOST_RESOLVING:
                break
            if name not in self._pending and name not in self._answers:
                self._pending[name] = begin(self._answer(name), self._ended)

    async def _answer(self, name: str) -> None:
        try:
            found = await self._resolve(hostname_of(name))
            if len(self._answers) >= MOST_RESOLVED:
                self._answers.clear()  # they are resolved again when their turn comes
            self._answers[name] = found
        finally:
            self._pending.pop(name, None)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self._trouble = task.exception()

    async def close(self) -> None:
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
