"""Time that passes only when somebody sleeps: an event loop without threads, sockets or waiting, and its clock."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVar

from gossamer.base.clock import SECOND, Instant

T = TypeVar("T")


class Stuck(AssertionError):
    """Everybody waits, and nothing will ever happen."""


class _Leaping(selectors.SelectSelector):
    """Where a real one waits for sockets, this one moves the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.at_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("everybody waits, and nothing will ever happen")
        self.at_s += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs the same way every time: what goes to a thread elsewhere is done here at once, on the spot."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)
        self._clock_resolution = 1e-7

    def time(self) -> float:
        return self._leaping.at_s

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as trouble:  # noqa: BLE001 - it belongs to whoever awaits it
            done.set_exception(trouble)
        return done


class VirtualClock:
    """The loop's time, told as two clocks: one that never steps, and one on the wall, which somebody may set."""

    def __init__(self, loop: VirtualLoop, at: Instant = 1_700_000_000 * SECOND) -> None:
        self._loop = loop
        self._wall = at

    def now(self) -> Instant:
        return self._wall + round(self._loop.time() * SECOND)

    def elapsed_s(self) -> float:
        return self._loop.time()

    def step(self, seconds: float) -> None:
        """Somebody sets the clock on the wall."""
        self._wall += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def pause(self, seconds: float) -> None:
        self._loop._leaping.at_s += seconds
