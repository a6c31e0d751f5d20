"""The memory budget of a crawler process.

It counts every body from the first byte received until its group is settled.

    own share -> medium -> large -> answers

Each fetch has a share of its own that needs no grant, so small pages never wait for large ones. What a body needs in
addition comes from one of two pools, by its size; the reader's answer (the record and the reading) from a third. A
fetch only waits for a pool further to the right than those it holds from, and the holders of the last one need only the
disk: no deadlock is possible. A host has at most one fetch in progress until that is settled, so what a fetch holds is
what its host holds.
"""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field

MIB = 1 << 20
MOST_SHARE = 256 * 1024
"""Bytes of a body that need no grant; less where very many fetches are in progress at once."""
MEDIUM = 2 * MIB
"""Bodies up to this size have a pool of their own, which larger ones cannot take from."""
CROWD = 4
"""Fetches in progress at most, slow ones included, for each place of `at_once`."""
COPIES = 2
"""Of an answer: as received and decoded, then decoded and as written."""


class _Pool:
    """Requests are granted whole, in order. One that exceeds the pool is granted when it is the only one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def fits(self, size: int) -> bool:
        return self.taken == 0 or self.taken + size <= self.size

    async def take(self, size: int) -> None:
        if not self.waiting and self.fits(size):
            self.taken += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # granted just as the fetch was cancelled
                self.give_back(size)
            else:
                with contextlib.suppress(ValueError):  # not there: it was skipped when memory became free just now
                    self.waiting.remove((size, turn))
                self.give_back(0)  # the next may fit
            raise

    def give_back(self, size: int) -> None:
        self.taken -= size
        while self.waiting and self.fits(self.waiting[0][0]):
            granted, turn = self.waiting.popleft()
            if not turn.done():
                self.taken += granted
                turn.set_result(None)


@dataclass(slots=True)
class _Account:
    """What a host holds beyond its share."""

    body: tuple[_Pool, int] | None = None
    answers: list[int] = field(default_factory=list)


class Budget:
    """One for a crawler process. The caller of `body` must call `release`, which frees what a host holds.

    A single body of any size is always possible: if it exceeds its pool, it gets all of it.
    """

    def __init__(self, total: int = 256 * MIB, at_once: int = 128) -> None:
        """`at_once`: fetches in progress, apart from slow ones."""
        self.share = min(MOST_SHARE, total // 4 // (CROWD * at_once))
        self.medium = min(MEDIUM, total // 32)
        self._medium = _Pool(total // 8)
        self._large = _Pool(total * 3 // 8)
        self._answers = _Pool(total // 4)
        self._accounts: dict[str, _Account] = {}

    @property
    def taken(self) -> int:
        """Bytes granted beyond the shares."""
        return self._medium.taken + self._large.taken + self._answers.taken

    @property
    def waiting(self) -> int:
        """Bodies being received that wait for memory."""
        return len(self._medium.waiting) + len(self._large.waiting)

    def next_size(self, received: int, likely: int) -> int:
        """What to request when a body is larger than what it holds: one of unknown length may be of medium size, and
        gets room for the largest only once it proves to be large."""
        return likely if received > self.medium or likely <= self.medium else self.medium

    async def body(self, host: str, size: int) -> None:
        """Wait for room for `size` bytes of the body being received; replaces what was granted before."""
        if size <= self.share:
            return
        pool = self._medium if size <= self.medium else self._large
        held = self._accounts[host].body if host in self._accounts else None
        if held is not None and held[0] is pool and held[1] >= size:
            return
        await pool.take(size)
        account = self._accounts.setdefault(host, _Account())
        _free(account)
        account.body = (pool, size)

    async def answer(self, host: str, size: int) -> None:
        """Wait for room for a reader's answer of `size` bytes."""
        if size <= self.share:
            return
        await self._answers.take(COPIES * size)
        self._accounts.setdefault(host, _Account()).answers.append(COPIES * size)

    def body_done(self, host: str) -> None:
        """The body is no longer in memory, or was never received."""
        account = self._accounts.get(host)
        if account is not None:
            _free(account)
            if not account.answers:
                del self._accounts[host]

    def release(self, host: str) -> None:
        """The host's fetch has nothing in memory any more."""
        account = self._accounts.pop(host, None)
        if account is not None:
            _free(account)
            for size in account.answers:
                self._answers.give_back(size)


def _free(account: _Account) -> None:
    if account.body is not None:
        pool, size = account.body
        account.body = None
        pool.give_back(size)
