"""Counts facts by property and by class, beside the pages: nobody waits for it longer than a moment."""

import asyncio
from types import TracebackType

from gossamer.clock import SECOND, Clock
from gossamer.errors import QueryRefused
from gossamer.web.entity_found import bindings
from gossamer.web.entity_queries import TYPE
from gossamer.web.rooms import Ask
from gossamer.web.vocabulary_rooms import FactsInUse

FRESH_S = 300.0
MOMENT_S = 1.5
"""What a page waits for the first count."""
MOST_TERMS = 10_000
BY_PROPERTY = "SELECT ?term (COUNT(*) AS ?facts) WHERE { ?thing ?term ?value } GROUP BY ?term"
BY_CLASS = f"SELECT ?term (COUNT(*) AS ?facts) WHERE {{ ?thing <{TYPE}> ?term }} GROUP BY ?term"


class FactCounter:
    """`async with FactCounter(ask, clock) as counter: await counter.latest()`. It counts when asked, one at a time."""

    def __init__(self, ask: Ask, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._latest: FactsInUse | None = None
        self._began_at: int | None = None
        self._wanted, self._counted = asyncio.Event(), asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "FactCounter":
        self._working = asyncio.create_task(self._work(), name="counting facts")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._working is not None
        self._working.cancel()
        await asyncio.gather(self._working, return_exceptions=True)

    async def latest(self) -> FactsInUse | None:
        self._wanted.set()
        if self._latest is None and not self._counted.is_set():
            try:
                async with asyncio.timeout(MOMENT_S):
                    await self._counted.wait()
            except TimeoutError:
                return None
        return self._latest

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            now = self._clock.now()
            if self._began_at is not None and 0 <= now - self._began_at < FRESH_S * SECOND:
                continue
            self._began_at = now
            try:
                self._latest = await self._count()
            except QueryRefused:  # too many to count within the limit: the pages do without, and say so
                self._latest = None
            self._counted.set()

    async def _count(self) -> FactsInUse:
        properties = await self._ask(BY_PROPERTY, "json", most_rows=MOST_TERMS)
        classes = await self._ask(BY_CLASS, "json", most_rows=MOST_TERMS)
        return FactsInUse(_numbers(properties.body), _numbers(classes.body), min(properties.as_of, classes.as_of))


def _numbers(body: bytes) -> dict[str, int]:
    return {row["term"]["value"]: int(row["facts"]["value"]) for row in bindings(body) if row["term"]["type"] == "uri"}
