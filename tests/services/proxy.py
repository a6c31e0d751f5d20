"""A TCP proxy on loopback that can be cut: for tests of connections that break, hang, or are refused."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Self

PIECE = 1 << 16


class Proxy:
    """`with Proxy(port) as proxy: proxy.port`. It runs on a thread of its own.

    `cut` breaks all connections and refuses new ones; `hang` passes nothing on, as a network does that drops packets;
    `mend` ends both.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self.target, self.port = target, port
        self.passed = 0
        """Bytes passed on, in both directions."""
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._passes.set()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def cut(self) -> None:
        self._call(self._cut())

    def hang(self) -> None:
        self._loop.call_soon_threadsafe(self._passes.clear)

    def mend(self) -> None:
        self._loop.call_soon_threadsafe(self._passes.set)
        if self._server is None:
            self._call(self._listen())

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, onward[1]}
        async with asyncio.TaskGroup() as both:
            both.create_task(self._pass(reader, onward[1]))
            both.create_task(self._pass(onward[0], writer))
        self._open -= {writer, onward[1]}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                await self._passes.wait()
                self.passed += len(piece)
                writer.write(piece)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
