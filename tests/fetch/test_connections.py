"""Connections kept for the next fetch: for how long, how many, and when the others are closed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import Tell, silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections, PooledConnection
from gossamer.testing import FakeClock
from gossamer.values.outcome import Failed, Outcome, Reason, Refused
from gossamer.values.url import Url

SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, at_once=2, idle_s=15.0)
NAMES = ("a.test", "b.test", "c.test")


async def listen(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
    """Sends nothing, and closes when the other side does."""
    await read.read()
    write.close()


def with_connections(
    story: Callable[[Connections, FakeClock], Awaitable[None]], settings: Fetch = SETTINGS, tell: Tell = silent
) -> None:
    async def run() -> None:
        async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
            plan = AddressPlan({name: {80: server.sockets[0].getsockname()[1]} for name in NAMES})
            clock = FakeClock()
            connections = Connections(settings, Network(plan, plan), clock, tell)
            connections.open()
            await story(connections, clock)
            connections.close()

    asyncio.run(run())


async def dial(connections: Connections, name: str) -> PooledConnection:
    found = await connections.dial(Url(f"http://{name}/"))
    assert isinstance(found, PooledConnection) and found.is_new and found.origin == f"http://{name}"
    return found


def is_open(connection: PooledConnection) -> bool:
    return connection.protocol.is_connected()


async def is_closed(connection: PooledConnection) -> bool:
    """An aborted transport is released in the next turn of the loop."""
    for _ in range(3):
        await asyncio.sleep(0)
    return not is_open(connection)


def test_a_connection_is_kept_for_the_next_fetch_for_a_limited_time() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        connection = await dial(connections, "a.test")
        connections.keep(connection)
        clock.advance(SETTINGS.idle_s - 1)
        again = connections.kept("http://a.test")
        assert again is not None and again.protocol is connection.protocol and not again.is_new
        assert connections.kept("http://a.test") is None, "a connection in use is not given to another fetch"
        connections.keep(again)
        clock.advance(SETTINGS.idle_s)
        assert connections.kept("http://a.test") is None and await is_closed(connection)

    with_connections(story)


def test_no_more_connections_are_kept_than_fetches_are_allowed_at_once() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        first, second, third = [await dial(connections, name) for name in NAMES]
        connections.keep(first)
        connections.keep(second)
        assert is_open(first) and is_open(second)
        connections.keep(third)
        assert await is_closed(first) and is_open(second) and is_open(third)
        assert connections.kept("http://a.test") is None
        assert connections.kept("http://b.test") is not None and connections.kept("http://c.test") is not None

    with_connections(story)


def test_of_two_connections_to_one_origin_the_newer_is_kept() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        older, newer = await dial(connections, "a.test"), await dial(connections, "a.test")
        connections.keep(older)
        connections.keep(newer)
        assert await is_closed(older) and is_open(newer)
        kept = connections.kept("http://a.test")
        assert kept is not None and kept.protocol is newer.protocol

    with_connections(story)


@pytest.mark.parametrize(("waited_s", "is_kept"), [(15.0, True), (15.5, False)])
def test_a_connection_that_is_too_old_is_closed_when_the_next_is_returned(waited_s: float, is_kept: bool) -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        old, new = await dial(connections, "a.test"), await dial(connections, "b.test")
        connections.keep(old)
        clock.advance(waited_s)
        connections.keep(new)
        assert await is_closed(old) is not is_kept and is_open(new)

    with_connections(story)


def test_a_connection_closed_by_the_other_side_is_not_kept() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        connection = await dial(connections, "a.test")
        connection.protocol.abort()
        assert await is_closed(connection)
        connections.keep(connection)
        assert connections.kept("http://a.test") is None

    with_connections(story)


def test_all_kept_connections_are_closed_at_the_end() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        both = [await dial(connections, name) for name in NAMES[:2]]
        for connection in both:
            connections.keep(connection)
        connections.close()
        assert [await is_closed(connection) for connection in both] == [True, True]
        assert connections.kept("http://a.test") is None

    with_connections(story)


def test_each_reason_not_to_connect_has_its_own_outcome() -> None:
    events: list[tuple[str, dict[str, object]]] = []

    async def story(connections: Connections, clock: FakeClock) -> None:
        port = await connections.dial(Url("http://a.test:25/"))
        assert port == Refused(Reason.ADDRESS, "port 25 is not for web pages")
        unknown = await connections.dial(Url("http://unknown.test/"))
        assert isinstance(unknown, Failed) and unknown.reason is Reason.DNS
        inside = await connections.dial(Url("http://10.0.0.1/"))
        assert isinstance(inside, Refused) and inside.reason is Reason.ADDRESS
        assert [(event, fields["url"]) for event, fields in events] == [
            ("address.refused", "http://a.test:25/"),
            ("address.refused", "http://10.0.0.1/"),
        ]
        assert await connections.address_of("unknown.test") is None
        assert await connections.address_of("10.0.0.1") is None
        assert await connections.address_of("a.test") is not None

    with_connections(story, tell=lambda event, **fields: events.append((event, fields)))


def test_without_a_contact_no_public_host_is_contacted() -> None:
    async def story(connections: Connections, clock: FakeClock) -> None:
        found = await connections.dial(Url("http://a.test/"))
        assert found == Refused(Reason.CONTACT, "a.test is public, and no contact is set")

    with_connections(story, replace(SETTINGS, contact=None))


def test_a_connection_whose_response_was_abandoned_is_closed_at_once() -> None:
    """The rest of an unwanted body is neither read nor taken for the response to the next request."""
    ended = asyncio.Event()

    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        await read.readuntil(b"\r\n\r\n")
        write.write(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1000)
        with contextlib.suppress(ConnectionError):
            await read.read()
        ended.set()
        write.close()

    async def run() -> Outcome:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            plan = AddressPlan({"a.test": {80: server.sockets[0].getsockname()[1]}})
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), silent)) as client:
                outcome = await client.fetch(Url("http://a.test/film"))
                await asyncio.wait_for(ended.wait(), 60)
                return outcome

    outcome = asyncio.run(run())
    assert isinstance(outcome, Refused) and outcome.reason is Reason.MEDIA_TYPE
