"""Live pages: server-sent events, made once for everybody who watches."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from fastapi import Request
from fastapi.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer.base.clock import Clock
from gossamer.base.errors import GossamerError
from gossamer.web.nodes.rooms import Ending, unheard

MOST_STREAMS = 32
LOOK_S = 0.25
"""How soon a stream notices that its reader has left, or that the server stops."""
RETRY_MS = 2000
FULL = "Too many live connections are open. The page itself can still be read.\n"
STILL_HERE = b": not just now\n\n"


@dataclass(slots=True)
class LiveFeed:
    """What is new, at most once in `every_s` seconds however many ask. `make` is run on a thread."""

    make: Callable[[], bytes]
    clock: Clock
    ending: Ending
    every_s: float = 1.0
    most: int = MOST_STREAMS
    watched: Callable[[int], None] = unheard
    streams: int = 0
    _made: bytes = b""
    _made_s: float | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def latest(self) -> bytes:
        """As an event; a comment when it cannot be had, so that the line stays open."""
        async with self._turn:
            now_s = self.clock.elapsed_s()
            if self._made_s is None or now_s - self._made_s >= self.every_s - LOOK_S / 2:
                self._made_s = now_s
                try:
                    self._made = b"data: " + await asyncio.to_thread(self.make) + b"\n\n"
                except (sqlite3.Error, GossamerError):
                    self._made = STILL_HERE
            return self._made

    async def follow(self, request: Request) -> AsyncIterator[bytes]:
        """Until the reader leaves or the server stops."""
        yield b"retry: %d\n\n" % RETRY_MS
        looks = max(1, round(self.every_s / LOOK_S))
        while True:
            yield await self.latest()
            for _ in range(looks):
                await self.clock.sleep(LOOK_S)
                if self.ending.is_near() or await request.is_disconnected():
                    return


class LiveStream(StreamingResponse):
    """One reader's stream of a feed; refused when too many watch."""

    def __init__(self, feed: LiveFeed, request: Request) -> None:
        super().__init__(feed.follow(request), media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        feed = self._feed
        if feed.streams >= feed.most:
            await PlainTextResponse(FULL, 503, {"Retry-After": "5"})(scope, receive, send)
            return
        feed.streams += 1
        feed.watched(feed.streams)
        try:
            await super().__call__(scope, receive, send)
        finally:
            feed.streams -= 1
            feed.watched(feed.streams)
