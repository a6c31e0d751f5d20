"""Long responses, made while they are sent.

Few at a time, bounded in memory, dropped when the client leaves.
"""

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
"""At one time: each has a thread and reads the whole collection."""
MOST_LONG = 32
"""Other responses longer than a piece, each of which stays in memory until its client has read it."""
PIECE = 1 << 16
"""Bytes given to a connection at one time; more once the client has read them."""
FULL = "Too many exports are running. Please try again in a minute."
Pieces = Callable[[], Generator[bytes, None, None]]


class Slots:
    """A limit on how many of a kind may run at one time."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    def take(self) -> bool:
        """False if all are taken. REQUIRES: a slot taken is given back."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def give_back(self) -> None:
        self.taken -= 1


class Stream(Response):
    """A file made piece by piece, each once the client has read the one before.

    All pieces are made on one thread, as SQLite connections and Oxigraph iterators require. An error before the first
    piece becomes an error page; a later one breaks the response off, which the client notices (RFC 9112, 8). A client
    that reads too slowly is disconnected by `access.connections`. Raises WebError if no slot is free.
    """

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
            async with background(_disconnected(receive)) as leaving:
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


async def unless_disconnected(request: Request, work: Awaitable[T]) -> T:
    """The result of the work, which is cancelled when the client disconnects, to free its worker (FAULTS W12)."""
    async with background(_disconnected(request.receive)) as leaving, background(work) as working:
        either: set[asyncio.Future[Any]] = {working, leaving}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise QueryTooLong("The client has disconnected.")
        return working.result()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
