"""Fetch one behaviour of the hostile server, and check what must hold for all of them.

I2: memory stays bounded. I3: the event loop never stalls. I7: no IP address outside the plan is connected to.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Self, TypeVar

import psutil
from tests.hostile.behaviour import MIB
from tests.hostile.behaviours.codings import BOMBS, bomb
from tests.hostile.server import HostileServer

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Endpoint, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Outcome
from gossamer.values.url import Url, url_of
from gossamer.values.visit import VisitKind

T = TypeVar("T")
HOST = "hostile.test"
LONGEST_STALL_S = 0.1
MOST_MEMORY = 64 * MIB

PATIENT = Fetch(
    contact="https://example.org/bot",
    timeout_s=60.0,
    connect_s=60.0,
    least_rate_after_s=60.0,
    body_limit=2 * MIB,
)
"""Long limits, because a busy machine is slow."""
IMPATIENT = replace(PATIENT, timeout_s=1.0)
WANTS_PACE = replace(PATIENT, least_rate_after_s=0.3)


class Recording:
    """An address plan that records its calls."""

    def __init__(self, plan: AddressPlan) -> None:
        self._plan = plan
        self.dialled: list[tuple[str, int]] = []

    async def addresses(self, hostname: str) -> list[str]:
        return await self._plan.addresses(hostname)

    def endpoint(self, address: str, port: int) -> Endpoint:
        self.dialled.append((address, port))
        return self._plan.endpoint(address, port)


class OneServer:
    """A dialer that leads to one loopback port, and records the IP addresses it was given."""

    def __init__(self, port: int) -> None:
        self.dialled: list[tuple[str, int]] = []
        self._port = port

    def endpoint(self, address: str, port: int) -> Endpoint:
        self.dialled.append((address, port))
        return Endpoint("127.0.0.1", self._port)


class Guarded:
    """The real client in place of the `TinyWeb` of the journey tests, by `monkeypatch`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.asked: list[str] = []

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        before_sending: Callable[[], None] = lambda: None,
    ) -> Outcome:
        self.asked.append(url.text)
        return await self._client.fetch(url, kind, before_sending=before_sending)


async def answering(answer: bytes, act: Callable[[int], Awaitable[T]]) -> T:
    """The result of `act`, while a server that gives this one answer to every request listens on the port."""

    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        await read.readuntil(b"\r\n\r\n")
        write.write(answer)
        await write.drain()
        write.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        return await act(server.sockets[0].getsockname()[1])


_watching: list["Witness"] = []


def _record(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event.startswith("socket."):
        for witness in _watching:
            witness.record(event, arguments)


class Witness:
    """Records every connection and every query to the system's resolver that the interpreter makes meanwhile.

    An audit hook cannot be removed: there is one, and it does nothing while no Witness is entered.
    """

    _is_hooked = False

    def __init__(self) -> None:
        self.connected: list[object] = []
        self.resolved: list[object] = []

    def __enter__(self) -> Self:
        if not Witness._is_hooked:
            sys.addaudithook(_record)
            Witness._is_hooked = True
        _watching.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching.remove(self)

    def record(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            self.connected.append(arguments[1])
        elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            self.resolved.append(arguments[0])


class Stalls:
    """The longest time for which the event loop was blocked, as a probe measures it.

    Only CPU time of this thread counts, so that a busy machine is not taken for a blocked loop.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def watch(self) -> None:
        while True:
            before, worked_s = time.monotonic(), time.thread_time()
            await asyncio.sleep(0.005)
            late_s = time.monotonic() - before - 0.005
            self.longest_s = max(self.longest_s, min(late_s, time.thread_time() - worked_s))


async def _fetch(name: str, settings: Fetch) -> tuple[Outcome, float, int, HostileServer]:
    memory = psutil.Process()
    stalls = Stalls()
    async with HostileServer() as server:
        plan = Recording(AddressPlan({HOST: {80: server.port}}))
        async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
            url = url_of(f"http://{HOST}/{name}")
            assert url is not None
            before = memory.memory_info().rss
            watching = asyncio.create_task(stalls.watch())
            try:
                outcome = await asyncio.wait_for(client.fetch(url), settings.timeout_s + 60)
            finally:
                watching.cancel()
            grown = memory.memory_info().rss - before
            assert len(plan.dialled) <= 1
            for _ in range(3_000):  # the client closes the socket without draining it, and the server notices
                if not server.open_now or keeps_a_connection(client):
                    break
                await asyncio.sleep(0.01)
    return outcome, stalls.longest_s, grown, server


def keeps_a_connection(client: Client) -> bool:
    return bool(client._connections._idle)


def fetched(name: str, settings: Fetch = PATIENT, check: Callable[[HostileServer], None] | None = None) -> Outcome:
    """The outcome of fetching the behaviour's page. The machine is shared, so a noisy run is repeated once."""
    if name in BOMBS:
        bomb(name)
    outcome, stalled_s, grown, server = asyncio.run(_fetch(name, settings))
    if stalled_s > LONGEST_STALL_S or grown > MOST_MEMORY:
        outcome, stalled_s, grown, server = asyncio.run(_fetch(name, settings))
    assert stalled_s <= LONGEST_STALL_S, f"the loop stalled for {stalled_s * 1000:.0f} ms"
    assert grown <= MOST_MEMORY, f"{grown // MIB} MiB of memory"
    assert len(server.heads) == 1, "requested more than once"
    if check is not None:
        check(server)
    return outcome
