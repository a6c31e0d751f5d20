"""Fakes that are shipped for tests, ours and yours; each passes the same suites as the real thing."""

import asyncio

from gossamer.clock import SECOND, Instant


class FakeClock:
    """A clock that moves only when told, or when somebody sleeps."""

    def __init__(self, at: Instant = 1_700_000_000 * SECOND) -> None:
        self._at = at

    def now(self) -> Instant:
        return self._at

    def elapsed_s(self) -> float:
        return self._at / SECOND

    def advance(self, seconds: float) -> None:
        self._at += round(seconds * SECOND)

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)

    def pause(self, seconds: float) -> None:
        self.advance(seconds)
