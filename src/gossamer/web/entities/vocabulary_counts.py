"""Counts facts by property and by class, beside the pages: nobody waits for it longer than a moment."""

import asyncio
import contextlib
from types import TracebackType

from gossamer.base.clock import Clock
from gossamer.base.errors import QueryRefused
from gossamer.base.tasks import background
from gossamer.collection.views import SparqlAsk
from gossamer.web.entities.facts import bindings
from gossamer.web.entities.queries import TYPE
from gossamer.web.entities.vocabulary_rooms import FactsInUse

FRESH_S, OLD_S = 2.0, 300.0
"""A count serves for so long at least, and at most; in between, for as long as counting took, times SHARE."""
SHARE = 20.0
MOMENT_S = 1.5
"""What a page waits for a new count; then it shows the one before, and when that was made."""
MOST_TERMS = 10_000
BY_PROPERTY = "SELECT ?term (COUNT(*) AS ?facts) WHERE { ?thing ?term ?value } GROUP BY ?term"
BY_CLASS = f"SELECT ?term (COUNT(*) AS ?facts) WHERE {{ ?thing <{TYPE}> ?term }} GROUP BY ?term"


class FactCounter:
    """`async with FactCounter(ask, clock) as counter: await counter.latest()`. It counts when asked, one at a time."""

    def __init__(self, ask: SparqlAsk, clock: Clock) -> None:
        self._ask, self._clock = ask, clock
        self._latest: FactsInUse | None = None
        self._began_s: float | None = None
        self._took_s = 0.0
        self._wanted, self._counted = asyncio.Event(), asyncio.Event()
        self._opened = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "FactCounter":
        await self._opened.enter_async_context(background(self._work()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def latest(self) -> FactsInUse | None:
        if self._is_old():
            self._counted.clear()
            self._wanted.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MOMENT_S):
                    await self._counted.wait()
        return self._latest

    def _is_old(self) -> bool:
        if self._began_s is None:
            return True
        return self._clock.elapsed_s() - self._began_s > min(OLD_S, max(FRESH_S, SHARE * self._took_s))

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._is_old():
                began_s = self._clock.elapsed_s()
                try:
                    self._latest = await self._count()
                except QueryRefused:  # too many to count within the limit: the pages do without, and say so
                    self._latest = None
                self._began_s, self._took_s = began_s, self._clock.elapsed_s() - began_s
            self._counted.set()

    async def _count(self) -> FactsInUse:
        properties = await self._ask(BY_PROPERTY, "json", most_rows=MOST_TERMS)
        classes = await self._ask(BY_CLASS, "json", most_rows=MOST_TERMS)
        return FactsInUse(_numbers(properties.body), _numbers(classes.body), min(properties.as_of, classes.as_of))


def _numbers(body: bytes) -> dict[str, int]:
    return {row["term"]["value"]: int(row["facts"]["value"]) for row in bindings(body) if row["term"]["type"] == "uri"}
