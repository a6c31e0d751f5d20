"""Long answers, made while they are sent: bounded in memory, and given up when the asker leaves."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

from fastapi import Response
from starlette.types import Receive, Scope, Send

STALL_S = 60.0
"""A reader that takes nothing for so long is gone."""
Pieces = Callable[[], Generator[bytes, None, None]]


class Stream(Response):
    """Pieces are drawn one at a time, and only when the last has been taken; all on one thread, since what they come
    from may belong to it (SQLite's connections and Oxigraph's iterators do). What goes wrong before the first has its
    ordinary page; later, the answer breaks off, which a client sees (RFC 9112, 8)."""

    def __init__(self, pieces: Pieces, media_type: str, file_name: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, "a stream")
        pieces = self._pieces()
        leaving = asyncio.ensure_future(_left(receive))
        try:
            piece = await loop.run_in_executor(thread, next, pieces, None)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while piece is not None and not leaving.done() and not scope.get("is_head"):
                async with asyncio.timeout(STALL_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await loop.run_in_executor(thread, next, pieces, None)
            if not leaving.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            closing = loop.run_in_executor(thread, pieces.close)
            thread.shutdown(wait=False)  # it ends once they are closed
            await asyncio.shield(closing)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
