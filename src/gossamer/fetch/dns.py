"""The DNS resolver, and the real network."""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Iterable
from itertools import zip_longest
from typing import NamedTuple, Self

import aiodns
import pycares

from gossamer.base.clock import Clock
from gossamer.base.environment import DirectDialer, Network, Outside
from gossamer.base.tasks import begin

MOST_REMEMBERED = 50_000
"""IP addresses in the cache, over all names; a name without one counts as one."""
MOST_ADDRESSES = 1_000
"""Of one name. Further ones are dropped: neither checked nor dialled."""
AT_ONCE = 64
"""Queries in progress; further ones wait."""
LEAST_TTL_S, MOST_TTL_S = 10.0, 3600.0
ABSENT_TTL_S = 300.0
"""How long it is cached that a name does not exist."""
FAILURE_TTL_S = 30.0
"""The same for a name whose servers failed or did not answer."""
FLUSH_AFTER = 20_000
"""c-ares has an unbounded cache of its own, which is cleared after so many queries."""
AI_NOSORT = 1 << 7
"""ares.h: leave the addresses in the order received. Sorting them (RFC 6724) opens a socket for each."""
_ABSENT = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME})


class _CachedAnswer(NamedTuple):
    until_s: float
    addresses: tuple[str, ...]
    trouble: str = ""

    @property
    def weight(self) -> int:
        return max(1, len(self.addresses))


class DnsResolver:
    """A `Resolver` with the machine's name servers. The first query opens it; leaving `async with` closes it."""

    def __init__(
        self, clock: Clock, servers: tuple[str, ...] | None = None, tries: int = 2, patience_s: float = 3.0
    ) -> None:
        self._clock = clock
        self._servers = servers
        self._tries, self._patience_s = tries, patience_s
        self._found: OrderedDict[str, _CachedAnswer] = OrderedDict()
        self._weight = 0
        self._queries: dict[str, asyncio.Future[_CachedAnswer]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._query_count = 0
        self._dns: aiodns.DNSResolver | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        queries = list(self._queries.values())
        for query in queries:
            query.cancel()
        await asyncio.gather(*queries, return_exceptions=True)
        if self._dns is not None:
            await self._dns.close()
            self._dns = None

    async def addresses(self, hostname: str) -> list[str]:
        """All IPv4 and IPv6 addresses of the name. Empty: there is none. OSError: the query failed."""
        name = hostname.lower()
        known = self._found.get(name)
        if known is None or known.until_s <= self._clock.elapsed_s():
            known = await self._shared(name)
        if known.trouble:
            raise OSError(known.trouble)
        return list(known.addresses)

    async def _shared(self, name: str) -> _CachedAnswer:
        """Concurrent callers share one query for a name; one that is cancelled does not end it for the others."""
        query = self._queries.get(name)
        if query is None:

            def ended(one: "asyncio.Future[_CachedAnswer]") -> None:
                self._queries.pop(name, None)
                if not one.cancelled():
                    one.exception()  # its callers get it, if there are any left

            query = self._queries[name] = begin(self._resolve(name), ended)
        return await asyncio.shield(query)

    async def _resolve(self, name: str) -> _CachedAnswer:
        async with self._turns:
            found = await self._look_up(name)
        self._remember(name, found)
        return found

    async def _look_up(self, name: str) -> _CachedAnswer:
        if self._dns is None:
            self._dns = self._channel()
        dns = self._dns
        self._query_count += 1
        if self._query_count % FLUSH_AFTER == 0:
            dns._channel.reinit()  # aiodns has no method for it
        try:
            return self._found_in(await _query(dns, name))
        except aiodns.error.DNSError as error:
            if _code(error) != pycares.errno.ARES_EBADRESP or len(self._queries) == 1:
                return self._failed(name, error)
        # A malformed response to one makes c-ares fail all queries of that socket: each is repeated by itself.
        alone = self._channel()
        try:
            return self._found_in(await _query(alone, name))
        except aiodns.error.DNSError as error:
            return self._failed(name, error)
        finally:
            await alone.close()

    def _failed(self, name: str, error: aiodns.error.DNSError) -> _CachedAnswer:
        if _code(error) in _ABSENT:
            return _CachedAnswer(self._clock.elapsed_s() + ABSENT_TTL_S, ())
        return _CachedAnswer(self._clock.elapsed_s() + FAILURE_TTL_S, (), f"{name}: {error.args[-1]}")

    def _found_in(self, answer: pycares.AddrInfoResult) -> _CachedAnswer:
        found = interleaved(dict.fromkeys(_text(node.addr[0]) for node in answer.nodes))
        ttl_s = min([*(node.ttl for node in answer.nodes), *(alias.ttl for alias in answer.cnames)], default=0)
        until_s = self._clock.elapsed_s() + (min(max(ttl_s, LEAST_TTL_S), MOST_TTL_S) if found else ABSENT_TTL_S)
        return _CachedAnswer(until_s, tuple(found[:MOST_ADDRESSES]))

    def _channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=list(self._servers) if self._servers else None,
            flags=pycares.ARES_FLAG_NOSEARCH,  # the name alone, without the machine's own domain
            tries=self._tries,
            timeout=self._patience_s,
        )

    def _remember(self, name: str, found: _CachedAnswer) -> None:
        if (old := self._found.pop(name, None)) is not None:
            self._weight -= old.weight
        self._found[name] = found
        self._weight += found.weight
        while self._weight > MOST_REMEMBERED:
            _, oldest = self._found.popitem(last=False)
            self._weight -= oldest.weight


async def _query(dns: aiodns.DNSResolver, name: str) -> pycares.AddrInfoResult:
    return await dns.getaddrinfo(name, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=AI_NOSORT)


def _code(error: aiodns.error.DNSError) -> int | None:
    return error.args[0] if error.args else None


def interleaved(addresses: Iterable[str]) -> list[str]:
    """IPv4 and IPv6 alternating, IPv4 first, each in the given order, so that the few that are tried include both."""
    every = list(addresses)
    old, new = [text for text in every if ":" not in text], [text for text in every if ":" in text]
    return [text for pair in zip_longest(old, new) for text in pair if text is not None]


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def real_network(outside: Outside) -> Network:
    return Network(DnsResolver(outside.clock), DirectDialer())
