"""Front queues: which hosts get a back queue next. They stand on disk, in bands; a band is drawn by lot.

A host is resolved before it gets a back queue, because hosts on one network address share its limits. Resolving
goes on beside everything else: a host whose address is not known yet is passed over and comes next time.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gossamer.base.chance import Chance
from gossamer.base.clock import Instant
from gossamer.frontier.priority import BANDS, pick_band
from gossamer.frontier.sqlite.hosts import text_of
from gossamer.store.statements import load
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.sqlite")
Resolve = Callable[[str], Awaitable[str | None]]
MOST_RESOLVING = 256
"""Hosts resolved at one time."""
MOST_RESOLVED = 4096
"""Answers kept for hosts that have not got their back queue yet."""


class Chosen(NamedTuple):
    host_id: int
    name: str
    ready_at: Instant
    band: int


def choose(connection: sqlite3.Connection, now: Instant, at_most: int, chance: Chance) -> list[Chosen]:
    """Hosts that may be touched, in the order in which they get their back queues. Nothing is changed."""
    bands: dict[int, deque[Chosen]] = {}
    for band in range(BANDS):
        rows = connection.execute(_SQL["front_ready"], (band, now, at_most)).fetchall()
        if rows:
            bands[band] = deque(Chosen(host_id, name, ready_at, band) for host_id, name, ready_at in rows)
    if len(bands) == 1:
        return list(bands.popitem()[1])
    chosen: list[Chosen] = []
    while bands and len(chosen) < at_most:
        band = pick_band(list(bands), chance.random())
        chosen.append(bands[band].popleft())
        if not bands[band]:
            del bands[band]
    return chosen


def first_at(connection: sqlite3.Connection) -> Instant | None:
    """The earliest instant at which `choose` may find something."""
    (at,) = connection.execute(_SQL["front_first"]).fetchone()
    return None if at is None else int(at)


def hostname_of(name: str) -> str:
    """A host's name without its port."""
    return Url(text_of(0, name, "")).hostname


class Resolving:
    """Addresses of hosts that are to get back queues: asked for on the event loop, used on the database's thread."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._answers: dict[str, str | None] = {}

    def is_known(self, name: str) -> bool:
        return name in self._answers

    def take(self, name: str) -> str | None:
        """The address of a host that gets its back queue now. REQUIRES: it is known."""
        return self._answers.pop(name)

    def busy(self) -> int:
        """How many hosts are being resolved."""
        return len(self._under_way)

    def ask(self, names: list[str]) -> None:
        """On the event loop: begin to resolve hosts, unless that is under way."""
        for name in names[:MOST_RESOLVING]:
            if len(self._under_way) >= MOST_RESOLVING:
                break
            if name not in self._under_way and name not in self._answers:
                self._under_way[name] = asyncio.create_task(self._answer(name))

    async def _answer(self, name: str) -> None:
        try:
            found = await self._resolve(hostname_of(name))
            if len(self._answers) >= MOST_RESOLVED:
                self._answers.clear()  # they are asked for again when their turn comes
            self._answers[name] = found
        finally:
            self._under_way.pop(name, None)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
