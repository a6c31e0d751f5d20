"""The resolver with a name server on loopback: what it queries, caches and drops (D1 and D12 of the catalogue)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.hostile.names import NXDOMAIN, SERVFAIL, NameServer, Reply, Table

from gossamer.fetch import dns
from gossamer.fetch.dns import DnsResolver, interleaved
from gossamer.testing import FakeClock

T = TypeVar("T")
Ask = Callable[[DnsResolver, NameServer, FakeClock], Awaitable[T]]


def with_names(table: Table, ask: Ask[T], tries: int = 1, patience_s: float = 60.0) -> T:
    """A busy machine may be slow to answer, so the timeout is short only where the server is silent."""

    async def run() -> T:
        clock = FakeClock()
        async with (
            NameServer(table) as server,
            DnsResolver(clock, servers=(server.address,), tries=tries, patience_s=patience_s) as resolver,
        ):
            return await ask(resolver, server, clock)

    return asyncio.run(run())


def found(name: str, table: Table) -> list[str]:
    async def ask(resolver, server, clock):
        return await resolver.addresses(name)

    return with_names(table, ask)


def test_addresses_of_both_families_are_found_and_alternate():
    table = {"both.test": Reply(("20.0.0.2", "2606:4700::2", "20.0.0.1", "2606:4700::1", "20.0.0.3"))}
    assert found("Both.test", table) == ["20.0.0.2", "2606:4700::2", "20.0.0.1", "2606:4700::1", "20.0.0.3"]
    assert interleaved(["a:1", "a:2", "1.1"]) == ["1.1", "a:1", "a:2"]


def test_an_answer_is_cached_for_its_time_to_live():
    async def ask(resolver, server, clock):
        asked = []
        for pause_s in (0, 59, 2):  # c-ares caches too, by real time: what counts are our queries to it
            clock.advance(pause_s)
            assert await resolver.addresses("a.test") == ["20.0.0.1"]
            asked.append(resolver._query_count)
        return asked

    assert with_names({"a.test": Reply(("20.0.0.1",))}, ask) == [1, 1, 2]


@pytest.mark.parametrize(("ttl_s", "kept_s"), [(0, 10), (1, 10), (600, 600), (10**9, 3600)])
def test_a_time_to_live_is_clamped(ttl_s, kept_s):
    async def ask(resolver, server, clock):
        asked = []
        for pause_s in (0, kept_s - 1, 2):
            clock.advance(pause_s)
            await resolver.addresses("a.test")
            asked.append(resolver._query_count)
        return asked

    assert with_names({"a.test": Reply(("20.0.0.1",), ttl_s=ttl_s)}, ask) == [1, 1, 2]


def test_F_D1_a_name_that_does_not_exist_is_cached_for_five_minutes_at_most():
    async def ask(resolver, server, clock):
        asked = []
        for pause_s in (0, 299, 2):
            clock.advance(pause_s)
            assert await resolver.addresses("none.test") == []
            asked.append(server.times("none.test"))
        return asked

    assert with_names({}, ask) == [1, 1, 2]


@pytest.mark.parametrize("reply", [Reply(code=SERVFAIL), Reply(is_silent=True), Reply(is_garbage=True)])
def test_F_D1_a_failing_silent_or_babbling_server_is_an_error_and_not_queried_again_at_once(reply):
    async def ask(resolver, server, clock):
        with pytest.raises(OSError, match=r"bad\.test"):
            await resolver.addresses("bad.test")
        asked = len(server.asked)
        with pytest.raises(OSError):
            await resolver.addresses("bad.test")
        assert len(server.asked) == asked, "the failure is cached"
        clock.advance(31)
        with pytest.raises(OSError):
            await resolver.addresses("bad.test")
        return asked, len(server.asked)

    first, later = with_names({"bad.test": reply}, ask, tries=2, patience_s=0.2)
    assert 2 <= first <= 2 * 2 and first < later <= 2 * first, "both kinds of address, each twice at most"


def test_F_D1_an_empty_answer_means_no_address():
    assert found("empty.test", {"empty.test": Reply()}) == []


def test_F_D1_a_chain_of_twenty_aliases_is_followed_and_a_loop_is_no_address():
    chain = Reply(("20.0.0.1",), aliases=20)
    assert found("chain.test", {"chain.test": chain}) == ["20.0.0.1"]
    loop = Reply(aliases=20, is_loop=True)
    assert found("loop.test", {"loop.test": loop}) == []


def test_F_D1_many_records_come_over_tcp_and_a_limited_number_is_kept(monkeypatch):
    monkeypatch.setattr(dns, "MOST_ADDRESSES", 900)
    many = tuple(f"20.0.{number >> 8}.{number & 255}" for number in range(1000))

    async def ask(resolver, server, clock):
        return await resolver.addresses("many.test"), server.over_tcp

    addresses, over_tcp = with_names({"many.test": Reply(many)}, ask)
    assert over_tcp == 1
    assert addresses == list(many[:900])


@pytest.mark.parametrize("name", ["a" * 64 + ".test", "a..test", ".test", "a" * 300, "-", "_x.test", "xn--a.test", "*"])
def test_F_D1_an_invalid_name_has_no_address(name):
    assert found(name, {}) == []


def test_simultaneous_lookups_of_one_name_share_one_query():
    async def ask(resolver, server, clock):
        server.delay_s = 0.05
        answers = await asyncio.gather(*[resolver.addresses("a.test") for _ in range(50)])
        return answers, server.times("a.test"), resolver._query_count

    answers, asked, queries = with_names({"a.test": Reply(("20.0.0.1",))}, ask)
    assert answers == [["20.0.0.1"]] * 50
    assert (asked, queries) == (1, 1)


def test_a_cancelled_lookup_does_not_cancel_the_query_for_others():
    async def ask(resolver, server, clock):
        server.delay_s = 0.05
        leaving = asyncio.ensure_future(resolver.addresses("a.test"))
        staying = asyncio.ensure_future(resolver.addresses("a.test"))
        await asyncio.sleep(0.01)
        leaving.cancel()
        return await staying, leaving.cancelled(), server.times("a.test")

    assert with_names({"a.test": Reply(("20.0.0.1",))}, ask) == (["20.0.0.1"], True, 1)


def test_a_limited_number_of_names_is_queried_at_once(monkeypatch):
    monkeypatch.setattr(dns, "AT_ONCE", 5)
    names = [f"h{number}.test" for number in range(40)]

    async def ask(resolver, server, clock):
        server.delay_s = 0.005
        answers = await asyncio.gather(*map(resolver.addresses, names))
        return answers, server.most_at_once

    answers, most = with_names({name: Reply(("20.0.0.1",)) for name in names}, ask)
    assert answers == [["20.0.0.1"]] * 40
    assert 1 < most <= 2 * 5, "each name takes two queries"


def test_closing_the_resolver_cancels_queries_in_progress():
    async def lookup_outlives_resolver() -> bool:
        async with NameServer({"mute.test": Reply(is_silent=True)}) as server:
            async with DnsResolver(FakeClock(), servers=(server.address,), patience_s=30.0) as resolver:
                asking = asyncio.ensure_future(resolver.addresses("mute.test"))
                await asyncio.sleep(0.02)
            await asyncio.wait([asking], timeout=5)
            return asking.cancelled()

    assert asyncio.run(lookup_outlives_resolver())


@pytest.mark.parametrize("each", [1, 3])
def test_F_D12_the_cache_is_bounded(monkeypatch, each):
    monkeypatch.setattr(dns, "MOST_REMEMBERED", 30)
    monkeypatch.setattr(dns, "FLUSH_AFTER", 300)
    names = [f"h{number}.test" for number in range(1000)]
    addresses = tuple(f"20.0.0.{number}" for number in range(each))

    async def ask(resolver, server, clock):
        for start in range(0, len(names), 50):
            for given in await asyncio.gather(*map(resolver.addresses, names[start : start + 50])):
                assert given == list(addresses)
            assert len(resolver._found) <= 30 // each
        await resolver.addresses("gone.test")
        return len(resolver._found), resolver._weight, len(resolver._queries)

    cached, weight, running = with_names({name: Reply(addresses) for name in names}, ask)
    assert weight <= 30 and cached <= weight and running == 0


def test_F_D12_names_that_do_not_exist_count_too(monkeypatch):
    monkeypatch.setattr(dns, "MOST_REMEMBERED", 30)

    async def ask(resolver, server, clock):
        await asyncio.gather(*[resolver.addresses(f"h{number}.test") for number in range(200)])
        return len(resolver._found)

    assert with_names({"x.test": Reply(code=NXDOMAIN)}, ask) == 30


def test_F_D1_a_malformed_answer_fails_only_its_own_name():
    good = [f"good{number}.test" for number in range(20)]
    table = {name: Reply(("20.0.0.1",)) for name in good} | {"bad.test": Reply(is_garbage=True)}

    async def ask(resolver, server, clock):
        server.delay_s = 0.05  # all queries are in progress when the first answer arrives
        return await asyncio.gather(*map(resolver.addresses, ["bad.test", *good]), return_exceptions=True)

    bad, *others = with_names(table, ask, tries=2)
    assert isinstance(bad, OSError) and "bad.test" in str(bad)
    assert others == [["20.0.0.1"]] * len(good)
