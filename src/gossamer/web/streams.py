"""Long answers, made while they are sent: few at a time, bounded in memory, and given up when the asker leaves."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gossamer.base.errors import QueryRefused, QueryTooLong
from gossamer.base.tasks import background
from gossamer.web.responses import WebError

MOST_EXPORTS = 8
"""Made at one time: each has a thread, and reads the whole collection."""
MOST_LONG = 32
"""Other answers longer than a piece that are being sent; each is held whole until its reader has taken it."""
PIECE = 1 << 16
"""Bytes handed to a connection at one time; the next when these have been taken."""
FULL = "Too many exports are running. Please try again in a minute."
Pieces = Callable[[], Generator[bytes, None, None]]


class Slots:
    """How many of a kind may be under way at one time."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    def take(self) -> bool:
        """False when all are taken. Whoever got one gives it back."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def give_back(self) -> None:
        self.taken -= 1


class Stream(Response):
    """Pieces are drawn one at a time, and only when the last has been taken; all on one thread, since what they come
    from may belong to it (SQLite's connections and Oxigraph's iterators do). What goes wrong before the first has its
    ordinary page; later, the answer breaks off, which a client sees (RFC 9112, 8). A reader that is too slow is cut
    off by `connections`. Nothing is begun while no slot is free: raises WebError."""

    def __init__(self, pieces: Pieces, media_type: str, file_name: str, slots: Slots) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        self._pieces, self._slots = pieces, slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._slots.take():
            raise WebError(503, FULL, {"Retry-After": "60"})
        try:
            await self._send_pieces(scope, receive, send)
        finally:
            self._slots.give_back()

    async def _send_pieces(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "a stream")
        pieces = self._pieces()
        try:
            async with background(_left(receive)) as leaving:
                piece = await loop.run_in_executor(thread, next, pieces, None)
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                while piece is not None and not leaving.done() and not scope.get("is_head"):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    piece = await loop.run_in_executor(thread, next, pieces, None)
                if not leaving.done():
                    await send({"type": "http.response.body", "body": b""})
        finally:
            closing = loop.run_in_executor(thread, pieces.close)
            thread.shutdown(wait=False)  # it ends once they are closed
            await asyncio.shield(closing)


T = TypeVar("T")


def status_of(trouble: QueryRefused) -> int:
    return 503 if isinstance(trouble, QueryTooLong) else 400


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The work's result. A query whose asker has gone is dropped, and its worker freed (FAULTS W12)."""
    async with background(_left(request.receive)) as leaving, background(work) as working:
        either: set[asyncio.Future[Any]] = {working, leaving}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise QueryTooLong("The client has disconnected.")
        return working.result()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
