"""Time that passes only when every task sleeps: an event loop without threads, sockets or waiting, and its clock."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVar

from gossamer.base.clock import SECOND, Instant

T = TypeVar("T")


class Deadlock(AssertionError):
    """Every task waits, and nothing will ever happen."""


class _Skipping(selectors.SelectSelector):
    """A selector that advances the clock where a real one waits for sockets."""

    def __init__(self) -> None:
        super().__init__()
        self.at_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("every task waits, and nothing will ever happen")
        self.at_s += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Deterministic: what other loops run on a thread is run at once."""

    def __init__(self) -> None:
        self._selector = _Skipping()
        super().__init__(self._selector)
        self._clock_resolution = 1e-7

    def time(self) -> float:
        return self._selector.at_s

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except BaseException as error:  # noqa: BLE001 - it is raised where the future is awaited
            done.set_exception(error)
        return done


class VirtualClock:
    """The loop's time as two clocks: a monotonic one, and a wall clock that can be set."""

    def __init__(self, loop: VirtualLoop, at: Instant = 1_700_000_000 * SECOND) -> None:
        self._loop = loop
        self._wall = at

    def now(self) -> Instant:
        return self._wall + round(self._loop.time() * SECOND)

    def elapsed_s(self) -> float:
        return self._loop.time()

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._wall += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def pause(self, seconds: float) -> None:
        self._loop._selector.at_s += seconds
