"""A web server that misbehaves on request.

On any host, `/H2-endless-chunks` is answered with an endless chunked body. So is any page of
`h2-endless-chunks.test`, which also has a robots.txt (404, or hostile too). By hand: `python -m tests.hostile
--list`.
"""

import asyncio
import contextlib
from collections import Counter
from types import TracebackType
from typing import Self

import trustme
from tests.hostile import behaviours  # noqa: F401  (registers them)
from tests.hostile.behaviour import BEHAVIOURS, MIB, Behaviour, Request, Write, page

ROBOTS = "/robots.txt"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
BY_HOST = {name: one for one in BEHAVIOURS.values() for name in (one.host, *one.hosts)}
_DISCONNECTED = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)


def behaviour_of(host: str, target: str) -> Behaviour | None:
    """The behaviour that the target names, else the one of the host."""
    named = BEHAVIOURS.get(target.strip("/"))
    return named or BY_HOST.get(host) or BY_HOST.get(f"*.{host.partition('.')[2]}")


class HostileServer:
    """`async with HostileServer() as server`: listens on `server.port` of loopback.

    With `only` every connection gets that behaviour, over TLS if it has a context; `authority` signs its certificate.
    """

    def __init__(
        self,
        address: str = "127.0.0.1",
        port: int = 0,
        only: Behaviour | None = None,
        authority: trustme.CA | None = None,
    ) -> None:
        self.address, self.port = address, port
        self.heads: list[bytes] = []
        self.requests: Counter[tuple[str, str]] = Counter()
        """Requests by host and target."""
        self.sent: Counter[str] = Counter()
        """Bytes written, by host."""
        self.open_now = 0
        self._only, self._authority = only, authority
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        context = None
        if self._only is not None and self._only.context is not None and self._authority is not None:
            context = self._only.context(self._authority, self._only.host)
        self._server = await asyncio.start_server(
            self._serve, self.address, self.port, limit=MIB, backlog=1024, ssl=context, reuse_port=self.port != 0
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, read: asyncio.StreamReader, write: Write) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_now += 1
        with contextlib.suppress(*_DISCONNECTED):
            if self._only is not None and self._only.raw_tls:
                await self._while_open(self._only, read, write, self._counted(self._only.host, "/", b"", write))
            else:
                while await self._answer(read, write):
                    pass
        self.open_now -= 1
        self._tasks.discard(task)
        write.transport.abort() if task.cancelling() else write.close()

    async def _answer(self, read: asyncio.StreamReader, write: Write) -> bool:
        """Answer one request; return whether another may follow on this connection."""
        head = await read.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        target = head.split(b" ", 2)[1].decode("latin-1")
        host = _host_in(head)
        request = self._counted(host, target, head, write)
        chosen = self._only or behaviour_of(host, target)
        if chosen is None or (target == ROBOTS and not (chosen.on_robots or chosen.is_site)):
            write.write(MISSING)
        elif chosen.on_robots and target != ROBOTS:
            write.write(page("A page with rules", "/secret/1", "/open/1", body=f"{host}{target}"))
        elif chosen.keeps_alive:
            await chosen.act(write, request)
            return True
        else:
            await self._while_open(chosen, read, write, request)
        await write.drain()
        return False

    def _counted(self, host: str, target: str, head: bytes, write: Write) -> Request:
        times = self.requests[host, target]
        self.requests[host, target] += 1
        plain = type(write).write

        def counted(data: bytes) -> None:
            self.sent[host] += len(data)
            plain(write, data)

        write.write = counted  # type: ignore[method-assign, assignment]
        return Request(host, target, times, head)

    async def _while_open(self, chosen: Behaviour, read: asyncio.StreamReader, write: Write, request: Request) -> None:
        """Act until the client closes the connection."""
        acting = asyncio.ensure_future(chosen.act(write, request))
        closing = asyncio.ensure_future(_closed(read))
        try:
            await asyncio.wait((acting, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            acting.cancel()
            closing.cancel()
            await asyncio.gather(acting, closing, return_exceptions=True)


async def _closed(read: asyncio.StreamReader) -> None:
    while await read.read(65_536):
        pass


def _host_in(head: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"host":
            return value.strip().partition(b":")[0].decode("latin-1").lower()
    return ""
