"""Network addresses of hosts that are fetched from soon: looked up on the event loop, used on the database thread."""

import asyncio
from collections.abc import Awaitable, Callable

from gossamer.base.tasks import begin
from gossamer.frontier.lanes import text_of
from gossamer.values.url import Url


def hostname_of(name: str) -> str:
    """A host's name without its port."""
    return Url(text_of(0, name, "")).hostname


Resolve = Callable[[str], Awaitable[str | None]]
MOST_RESOLVING = 256
"""Hosts resolved at one time."""
MOST_RESOLVED = 4096
"""Answers kept for hosts that have not got their back queue yet."""


class Resolving:
    """Addresses of hosts that are to get back queues: asked for on the event loop, used on the database's thread."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._answers: dict[str, str | None] = {}
        self._trouble: BaseException | None = None

    def is_known(self, name: str) -> bool:
        return name in self._answers

    def take(self, name: str) -> str | None:
        """The address of a host that gets its back queue now. REQUIRES: it is known."""
        return self._answers.pop(name)

    def busy(self) -> int:
        """How many hosts are being resolved."""
        return len(self._under_way)

    def ask(self, names: list[str]) -> None:
        """On the event loop: begin to resolve hosts, unless that is under way. Raises what one of them has raised."""
        if self._trouble is not None:
            raise self._trouble
        for name in names[:MOST_RESOLVING]:
            if len(self._under_way) >= MOST_RESOLVING:
                break
            if name not in self._under_way and name not in self._answers:
                self._under_way[name] = begin(self._answer(name), self._ended)

    async def _answer(self, name: str) -> None:
        try:
            found = await self._resolve(hostname_of(name))
            if len(self._answers) >= MOST_RESOLVED:
                self._answers.clear()  # they are asked for again when their turn comes
            self._answers[name] = found
        finally:
            self._under_way.pop(name, None)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self._trouble = task.exception()

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
