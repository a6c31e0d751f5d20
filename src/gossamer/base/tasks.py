"""Background tasks with an owner.

No exception goes unnoticed, and no task outlives its block or object.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, TypeVar

from gossamer.base.tell import Tell

T = TypeVar("T")


def begin(work: Awaitable[T], ended: Callable[["asyncio.Future[T]"], None]) -> "asyncio.Future[T]":
    """Start a task. `ended` owns it: it is called when the task is done, and must look at what it raised."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(ended)
    return task


@asynccontextmanager
async def background(work: Awaitable[T]) -> AsyncIterator["asyncio.Future[T]"]:
    """Run a task during the block; it is cancelled and awaited at the end, and its exception is raised then. A block
    that itself fails raises its own exception, with a note about the task's."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        own = sys.exception()
        await _over(task)
        if (other := _raised_by(task)) is not None and other is not own:
            if own is None:
                raise other
            own.add_note(f"a background task failed too: {other!r}")


class Tasks:
    """The tasks of one owner, who closes them. An exception is reported as an event when its task ends."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._running: set[asyncio.Future[None]] = set()

    def begin(self, work: Awaitable[None]) -> None:
        self._running.add(begin(work, self._ended))

    async def close(self) -> None:
        """Cancel what still runs and wait for it."""
        if running := list(self._running):
            await _over(*running)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._running.discard(task)
        if (trouble := _raised_by(task)) is not None:
            self._tell("task.failed", why=repr(trouble))


class OnDemand(Generic[T]):
    """Something that is opened when it is first requested, by a task of its own, since the task that requests it first
    may end long before it is closed."""

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._make = make
        self._holding: asyncio.Future[None] | None = None
        self._over = asyncio.Event()

    async def get(self) -> T:
        if self._holding is None:
            self._over.clear()
            self._opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            self._holding = begin(self._hold(), self._ended)
        return await asyncio.shield(self._opened)

    async def _hold(self) -> None:
        async with self._make() as opened:
            self._opened.set_result(opened)
            await self._over.wait()

    def _ended(self, task: "asyncio.Future[None]") -> None:
        trouble = _raised_by(task)
        if not self._opened.done():
            self._opened.set_exception(trouble or asyncio.CancelledError())

    async def close(self) -> None:
        if self._holding is not None:
            self._over.set()
            await asyncio.wait([self._holding])
            self._holding = None


async def _over(*tasks: "asyncio.Future[T]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _raised_by(task: "asyncio.Future[T]") -> BaseException | None:
    return None if task.cancelled() else task.exception()
