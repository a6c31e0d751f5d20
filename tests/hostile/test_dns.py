"""FAULTS D1, D4, D5 and D12 over sockets: a real name server, the resolver, the guard and the client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.hostile.harness import OneServer, answering
from tests.hostile.names import NXDOMAIN, SERVFAIL, NameServer, Reply, Table

from gossamer.base.environment import Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.dns import AT_ONCE, DnsResolver
from gossamer.fetch.pool import Connections
from gossamer.testing import FakeClock
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason, Refused
from gossamer.values.url import Url, url_of

T = TypeVar("T")
SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, connect_s=60.0)
CLOSING = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MANY = tuple(f"20.1.{number >> 8}.{number & 255}" for number in range(999))


class Web:
    """A client with a name server of the test, whose connections all lead to a server of the test."""

    def __init__(self, client: Client, names: NameServer, dialer: OneServer, clock: FakeClock) -> None:
        self.client, self.names, self.dialer, self.clock = client, names, dialer, clock

    async def fetch(self, text: str) -> Outcome:
        return await self.client.fetch(_url(text))


def on_the_web(
    table: Table, act: Callable[[Web], Awaitable[T]], settings: Fetch = SETTINGS, patience_s: float = 60.0
) -> T:
    """A busy machine may answer late, so the patience is short only where a test waits for silence."""

    async def run(port: int) -> T:
        clock, dialer = FakeClock(), OneServer(port)
        async with (
            NameServer(table) as names,
            DnsResolver(clock, servers=(names.address,), tries=2, patience_s=patience_s) as resolver,
            Client(Connections(settings, Network(resolver, dialer), clock, silent)) as client,
        ):
            return await act(Web(client, names, dialer, clock))

    return asyncio.run(answering(CLOSING, run))


def _url(text: str) -> Url:
    url = url_of(text)
    assert url is not None
    return url


@pytest.mark.parametrize(
    "reply",
    [
        Reply(code=NXDOMAIN),
        Reply(code=SERVFAIL),
        Reply(is_silent=True),
        Reply(is_garbage=True),
        Reply(),
        Reply(aliases=20, is_loop=True),
    ],
    ids=["nxdomain", "servfail", "silence", "garbage", "empty", "alias-loop"],
)
def test_F_D1_a_name_without_an_ip_address_fails_without_a_connection_and_after_a_few_queries(reply):
    async def act(web: Web) -> tuple[list[Outcome], int, list[tuple[str, int]]]:
        outcomes = [await web.fetch("http://bad.test/") for _ in range(5)]
        assert await web.client.address_of("bad.test") is None
        return outcomes, len(web.names.asked), web.dialer.dialled

    outcomes, asked, dialled = on_the_web({"bad.test": reply}, act, patience_s=0.1)
    assert all(isinstance(outcome, Failed) and outcome.reason is Reason.DNS for outcome in outcomes)
    assert asked <= 2 * 2, "two types of record, two tries"
    assert dialled == []


@pytest.mark.parametrize("reply", [Reply(("20.0.0.1",), aliases=20), Reply((*MANY, "20.0.0.1"))])
def test_F_D1_a_long_chain_and_a_thousand_records_are_accepted(reply):
    async def act(web: Web) -> tuple[Outcome, list[tuple[str, int]]]:
        return await web.fetch("http://long.test/"), web.dialer.dialled

    outcome, dialled = on_the_web({"long.test": reply}, act)
    assert isinstance(outcome, Fetched)
    assert 1 <= len(dialled) <= 8


@pytest.mark.parametrize("bad", ["10.0.0.1", "::1", "169.254.169.254", "fd00:ec2::254"])
@pytest.mark.parametrize("good", [("20.0.0.1",), MANY], ids=["two", "thousand"])
def test_F_D4_one_private_record_among_public_ones_makes_the_name_refused(good, bad):
    async def act(web: Web) -> tuple[Outcome, str | None, list[tuple[str, int]]]:
        return await web.fetch("http://mixed.test/"), await web.client.address_of("mixed.test"), web.dialer.dialled

    outcome, address, dialled = on_the_web({"mixed.test": Reply((*good, bad))}, act)
    assert isinstance(outcome, Refused) and outcome.reason is Reason.ADDRESS
    assert (address, dialled) == (None, [])


def test_F_D5_a_name_that_becomes_private_is_dialled_at_the_checked_ip_address_and_then_refused():
    replies = [Reply(("20.0.0.1",), ttl_s=0), Reply(("127.0.0.1",), ttl_s=0)]

    async def act(web: Web) -> tuple[list[Outcome], list[tuple[str, int]]]:
        at_once = [await web.fetch("http://rebind.test/") for _ in range(3)]
        web.clock.advance(11)
        return [*at_once, await web.fetch("http://rebind.test/")], web.dialer.dialled

    outcomes, dialled = on_the_web({"rebind.test": replies}, act)
    *first, last = outcomes
    assert all(isinstance(one, Fetched) and one.capture.address == "20.0.0.1" for one in first)
    assert isinstance(last, Refused) and last.reason is Reason.ADDRESS
    assert dialled == [("20.0.0.1", 80)] * 3


def test_F_D5_the_ip_address_reported_to_the_frontier_is_the_one_that_is_dialled():
    replies = [Reply(("20.0.0.1", "20.0.0.2"), ttl_s=0), Reply(("20.0.0.9",), ttl_s=0)]

    async def act(web: Web) -> tuple[str | None, Outcome]:
        return await web.client.address_of("site.test"), await web.fetch("http://site.test/")

    address, outcome = on_the_web({"site.test": replies}, act)
    assert address == "20.0.0.1"
    assert isinstance(outcome, Fetched) and outcome.capture.address == address


def test_the_ip_address_of_a_host_that_must_not_be_dialled_is_none_and_nothing_raises():
    async def act(web: Web) -> list[str | None]:
        asked = ["127.0.0.1", "localhost", "a.localhost", "::1", "20.0.0.1", "2606:4700:0::1", "private.test"]
        return [await web.client.address_of(name) for name in asked]

    found = on_the_web({"private.test": Reply(("192.168.1.1",))}, act)
    assert found == [None, None, None, None, "20.0.0.1", "2606:4700::1", None]


def test_a_public_ip_address_is_not_reported_while_there_is_no_contact():
    async def act(web: Web) -> str | None:
        return await web.client.address_of("site.test")

    assert on_the_web({"site.test": Reply(("20.0.0.1",))}, act, Fetch()) is None


def test_F_D12_many_names_at_once_share_the_cache_with_the_fetches_and_few_are_resolved_at_once():
    names = [f"h{number}.test" for number in range(300)]

    async def act(web: Web) -> tuple[dict[str, str | None], int, int, int]:
        web.names.delay_s = 0.002
        asked = [*names, *names, "none.test"]
        found = dict(zip(asked, await asyncio.gather(*map(web.client.address_of, asked)), strict=True))
        before = len(web.names.asked)
        outcome = await web.fetch("http://h7.test/")
        assert isinstance(outcome, Fetched) and outcome.capture.address == "20.0.0.7"
        return found, before, len(web.names.asked), web.names.most_at_once

    table = {name: Reply((f"20.0.{number >> 8}.{number & 255}",)) for number, name in enumerate(names)}
    found, before, after, most = on_the_web(table, act)
    assert found == {**{name: table[name].addresses[0] for name in names}, "none.test": None}
    assert (before, after) == (2 * 301, 2 * 301), "each name is resolved once"
    assert most <= 2 * AT_ONCE
