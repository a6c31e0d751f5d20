"""Background tasks with an owner: no exception goes unnoticed, and no task outlives its block or object."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from gossamer.base.tell import Tell

T = TypeVar("T")


def begin(work: Awaitable[T], ended: Callable[["asyncio.Future[T]"], None]) -> "asyncio.Future[T]":
    """Start a task. `ended` owns it: it is called when the task is done, and must look at what it raised."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(ended)
    return task


@asynccontextmanager
async def background(work: Awaitable[T]) -> AsyncIterator["asyncio.Future[T]"]:
    """Run a task beside the block; it is cancelled and awaited on leaving, and its exception is raised then. A block
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


async def _over(*tasks: "asyncio.Future[T]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def _raised_by(task: "asyncio.Future[T]") -> BaseException | None:
    return None if task.cancelled() else task.exception()
