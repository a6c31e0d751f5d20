"""FAULTS H12 to H14: a response is never taken for that of another request, and no credentials are ever sent."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.hostile.behaviour import reset_connection
from tests.journey.crawling import EventLog

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network, seeded
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Failed, Fetched, Moved, Outcome, Reason
from gossamer.values.url import Url, url_of

T = TypeVar("T")
HOST = "site.test"
SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0)
FETCHES = int(os.environ.get("GOSSAMER_SOAK_VISITS", "1500"))
"""The full test has 10,000, which take half a minute."""
POISON = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\npoison"


class Connected:
    """One connection of the server, with the number of its requests."""

    def __init__(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        self.read, self.write = read, write
        self.requests = 0
        self.has_ended = False


Answer = Callable[[str, Connected], Awaitable[bool]]
"""Answers a path; returns whether the connection is kept."""


class Site:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[bytes] = []
        self.latest: Connected | None = None

    async def serve(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        connected = self.latest = Connected(read, write)
        try:
            while True:
                request = await read.readuntil(b"\r\n\r\n")
                self.requests.append(request)
                connected.requests += 1
                if not await self._answer(request.split(b" ", 2)[1].decode(), connected):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        write.close()


def with_site(answer: Answer, act: Callable[[Client, Site], Awaitable[T]], log: EventLog | None = None) -> T:
    async def run() -> T:
        site = Site(answer)
        async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            plan = AddressPlan({name: {80: port, 8080: port} for name in (HOST, "other.test", f"www.{HOST}")})
            async with Client(Connections(SETTINGS, Network(plan, plan), SystemClock(), log or EventLog())) as client:
                return await act(client, site)

    return asyncio.run(run())


def _url(text: str) -> Url:
    url = url_of(text)
    assert url is not None
    return url


def whole(body: str, fields: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}".encode()


# H12, H13: no cookies and no credentials


async def _redirecting(path: str, connected: Connected) -> bool:
    """Set cookies for other domains, and redirect to the next of the hosts in the query."""
    here, _, rest = path.removeprefix("/?").partition(",")
    cookies = "Set-Cookie: a=1\r\nSet-Cookie: b=2; Domain=co.uk\r\nSet-Cookie: c=3; Domain=test\r\n"
    demands = 'WWW-Authenticate: Basic realm="x"\r\nProxy-Authenticate: Basic realm="x"\r\n'
    location = f"Location: http://{here}/?{rest}\r\n" if here else ""
    status = "302 Found" if here else "200 OK"
    connected.write.write(f"HTTP/1.1 {status}\r\n{cookies}{demands}{location}Content-Length: 0\r\n\r\n".encode())
    return True


def test_F_H12_F_H13_no_credentials_and_no_cookies_follow_a_redirect_across_host_or_port():
    path = f"http://me:secret@{HOST}/?you:hidden@other.test,{HOST}:8080,www.{HOST},{HOST}"

    async def act(client: Client, site: Site) -> tuple[list[str], list[bytes]]:
        url, seen = _url(path), []
        while True:
            seen.append(url.text)
            outcome = await client.fetch(url)
            if not isinstance(outcome, Moved):
                assert isinstance(outcome, Fetched)
                return seen, site.requests
            url = outcome.to

    seen, requests = with_site(_redirecting, act)
    assert len(seen) == len(requests) == 5
    assert not any("@" in text.partition("?")[0] for text in seen)
    for request in requests:
        fields = {line.partition(b":")[0].lower() for line in request.split(b"\r\n")[1:] if line}
        assert fields == {b"host", b"user-agent", b"accept", b"accept-encoding"}


@pytest.mark.parametrize("status", [401, 407])
def test_F_H13_a_demand_for_credentials_fails_the_page_and_is_not_answered(status):
    async def demand(path: str, connected: Connected) -> bool:
        connected.write.write(b"HTTP/1.1 %d No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n" % status)
        return True

    async def act(client: Client, site: Site) -> tuple[Outcome, int]:
        return await client.fetch(_url(f"http://me:secret@{HOST}/")), len(site.requests)

    outcome, asked = with_site(demand, act)
    assert isinstance(outcome, Failed) and outcome.reason is Reason.CLIENT_ERROR
    assert asked == 1


# H14: which request a response belongs to


class Trickster:
    """Answers correctly, and then does something random with the connection."""

    def __init__(self) -> None:
        self._chance = seeded(14)
        self.did: dict[str, int] = {}

    async def answer(self, path: str, connected: Connected) -> bool:
        tricks = (self.no_trick, self.no_trick, self.says_more, self.close, self.half_close, self.reset, self.in_pieces)
        trick = tricks[int(self._chance.random() * len(tricks))]
        self.did[trick.__name__] = self.did.get(trick.__name__, 0) + 1
        is_kept = await trick(path, connected)
        await connected.write.drain()
        return is_kept

    async def no_trick(self, path: str, connected: Connected) -> bool:
        connected.write.write(whole(path))
        return True

    async def says_more(self, path: str, connected: Connected) -> bool:
        """A second response in the same write. Both are complete; only the second belongs to no request."""
        connected.write.write(whole(path) + POISON)
        return True

    async def in_pieces(self, path: str, connected: Connected) -> bool:
        answer = whole(path)
        for start in range(0, len(answer), 40):
            connected.write.write(answer[start : start + 40])
            await asyncio.sleep(0)
        return True

    async def close(self, path: str, connected: Connected) -> bool:
        connected.write.write(whole(path))
        return False

    async def half_close(self, path: str, connected: Connected) -> bool:
        connected.write.write(whole(path))
        connected.write.write_eof()
        connected.has_ended = True
        return True

    async def reset(self, path: str, connected: Connected) -> bool:
        """Reset while the response is being sent; part of it may be lost."""
        connected.write.write(whole(path))
        await connected.write.drain()
        await asyncio.sleep(0)
        reset_connection(connected.write)
        return False


def test_F_H14_no_body_is_ever_taken_for_that_of_another_page():
    chance, trickster, log = seeded(41), Trickster(), EventLog()

    async def act(client: Client, site: Site) -> tuple[list[str], int]:
        misattributed, fetched = [], 0
        for number in range(FETCHES):
            outcome = await client.fetch(_url(f"http://{HOST}/{number}"))
            if isinstance(outcome, Fetched):
                fetched += 1
                if outcome.capture.body != f"/{number}".encode():
                    misattributed.append(f"{number}: {outcome.capture.body!r}")
            else:
                assert isinstance(outcome, Failed) and outcome.reason in (Reason.DISCONNECTED, Reason.PROTOCOL)
            draw = chance.random()
            latest = site.latest
            if draw < 0.2 and latest is not None and not (latest.has_ended or latest.write.is_closing()):
                latest.write.write(POISON)  # it stays in the socket's buffer; the client's loop has no turn to read it
            elif draw < 0.6:
                await asyncio.sleep(0)
        return misattributed, fetched

    misattributed, fetched = with_site(trickster.answer, act, log)
    assert misattributed == []
    assert fetched > FETCHES * 0.6, trickster.did
    assert min(trickster.did.values()) > FETCHES / 20


# RFC 9112, 9.3.1: a kept connection that is closed


async def _once_a_connection(path: str, connected: Connected) -> bool:
    """The first request of a connection is answered; at the second the connection is closed."""
    if connected.requests == 1:
        connected.write.write(whole(path))
        return True
    return False


def _two(client: Client, *paths: str) -> Awaitable[list[Outcome]]:
    async def act() -> list[Outcome]:
        return [await client.fetch(_url(f"http://{HOST}{path}")) for path in paths]

    return act()


def test_a_kept_connection_that_is_closed_before_the_response_is_replaced_once_and_that_is_reported():
    async def act(client: Client, site: Site) -> tuple[list[Outcome], list[bytes]]:
        return await _two(client, "/1", "/2"), [request.split(b" ", 2)[1] for request in site.requests]

    log = EventLog()
    outcomes, asked = with_site(_once_a_connection, act, log)
    assert [outcome.capture.body for outcome in outcomes if isinstance(outcome, Fetched)] == [b"/1", b"/2"]
    assert asked == [b"/1", b"/2", b"/2"]
    assert log.named("connection.replaced") == [{"url": f"http://{HOST}/2"}]


def test_a_replacement_connection_is_not_replaced():
    async def only_the_first(path: str, connected: Connected) -> bool:
        if path == "/1":
            connected.write.write(whole(path))
            return True
        return False

    async def act(client: Client, site: Site) -> tuple[list[Outcome], int]:
        return await _two(client, "/1", "/2"), len(site.requests)

    log = EventLog()
    (first, second), asked = with_site(only_the_first, act, log)
    assert isinstance(first, Fetched)
    assert isinstance(second, Failed) and second.reason is Reason.DISCONNECTED
    assert asked == 3 and len(log.named("connection.replaced")) == 1


@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 200 OK\r\nContent-", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_a_request_with_a_partial_response_is_not_repeated(part):
    async def in_part(path: str, connected: Connected) -> bool:
        connected.write.write(whole(path) if path == "/1" else part)
        return path == "/1"

    async def act(client: Client, site: Site) -> tuple[list[Outcome], int]:
        return await _two(client, "/1", "/2"), len(site.requests)

    log = EventLog()
    (first, second), asked = with_site(in_part, act, log)
    assert isinstance(first, Fetched)
    assert isinstance(second, Failed) and second.reason is Reason.DISCONNECTED
    assert asked == 2 and log.named("connection.replaced") == []
