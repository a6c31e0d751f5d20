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
"""Addresses in the cache, over all names; a name without one counts as one."""
MOST_ADDRESSES = 1_000
"""Of one name. Further ones are dropped, so they are neither checked nor dialled."""
AT_ONCE = 64
"""Names resolved at one time; further ones wait."""
LEAST_TTL_S, MOST_TTL_S = 10.0, 3600.0
ABSENT_TTL_S = 300.0
"""How long it is cached that a name does not exist."""
TROUBLE_TTL_S = 30.0
"""The same for a name whose servers failed or did not answer."""
FLUSH_AFTER = 20_000
"""c-ares has an unbounded cache of its own, which is emptied after so many queries."""
AI_NOSORT = 1 << 7
"""ares.h: leave the addresses in the order they came. Sorting them (RFC 6724) opens a socket for each."""
_ABSENT = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME})


class _Found(NamedTuple):
    until_s: float
    addresses: tuple[str, ...]
    trouble: str = ""

    @property
    def weight(self) -> int:
        return max(1, len(self.addresses))


class DnsResolver:
    """A `Resolver` on the machine's name servers. The first query opens it; leaving `async with` closes it."""

    def __init__(
        self, clock: Clock, servers: tuple[str, ...] | None = None, tries: int = 2, patience_s: float = 3.0
    ) -> None:
        self._clock = clock
        self._servers = servers
        self._tries, self._patience_s = tries, patience_s
        self._found: OrderedDict[str, _Found] = OrderedDict()
        self._weight = 0
        self._asking: dict[str, asyncio.Future[_Found]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._asked = 0
        self._dns: aiodns.DNSResolver | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        asking = list(self._asking.values())
        for question in asking:
            question.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        if self._dns is not None:
            await self._dns.close()
            self._dns = None

    async def addresses(self, hostname: str) -> list[str]:
        """Every address of the name, IPv4 and IPv6. Empty: there is none. OSError: the query failed."""
        name = hostname.lower()
        known = self._found.get(name)
        if known is None or known.until_s <= self._clock.elapsed_s():
            known = await self._shared(name)
        if known.trouble:
            raise OSError(known.trouble)
        return list(known.addresses)

    async def _shared(self, name: str) -> _Found:
        """Concurrent callers share one query for a name; one that is cancelled does not end it for the others."""
        question = self._asking.get(name)
        if question is None:

            def ended(one: "asyncio.Future[_Found]") -> None:
                self._asking.pop(name, None)
                if not one.cancelled():
                    one.exception()  # the callers get it, if any is left

            question = self._asking[name] = begin(self._ask(name), ended)
        return await asyncio.shield(question)

    async def _ask(self, name: str) -> _Found:
        async with self._turns:
            found = await self._look_up(name)
        self._remember(name, found)
        return found

    async def _look_up(self, name: str) -> _Found:
        dns = self._opened()
        self._asked += 1
        if self._asked % FLUSH_AFTER == 0:
            dns._channel.reinit()  # aiodns offers no way to do it
        try:
            return self._found_in(await _answer(dns, name))
        except aiodns.error.DNSError as trouble:
            if _code(trouble) != pycares.errno.ARES_EBADRESP or len(self._asking) == 1:
                return self._failed(name, trouble)
        # A malformed answer to one makes c-ares fail all queries of that socket: each is repeated by itself.
        apart = self._channel()
        try:
            return self._found_in(await _answer(apart, name))
        except aiodns.error.DNSError as trouble:
            return self._failed(name, trouble)
        finally:
            await apart.close()

    def _failed(self, name: str, trouble: aiodns.error.DNSError) -> _Found:
        if _code(trouble) in _ABSENT:
            return _Found(self._clock.elapsed_s() + ABSENT_TTL_S, ())
        return _Found(self._clock.elapsed_s() + TROUBLE_TTL_S, (), f"{name}: {trouble.args[-1]}")

    def _found_in(self, answer: pycares.AddrInfoResult) -> _Found:
        found = in_turns(dict.fromkeys(_text(node.addr[0]) for node in answer.nodes))
        ttl_s = min([*(node.ttl for node in answer.nodes), *(alias.ttl for alias in answer.cnames)], default=0)
        until_s = self._clock.elapsed_s() + (min(max(ttl_s, LEAST_TTL_S), MOST_TTL_S) if found else ABSENT_TTL_S)
        return _Found(until_s, tuple(found[:MOST_ADDRESSES]))

    def _opened(self) -> aiodns.DNSResolver:
        if self._dns is None:
            self._dns = self._channel()
        return self._dns

    def _channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=list(self._servers) if self._servers else None,
            flags=pycares.ARES_FLAG_NOSEARCH,  # the name alone, without the machine's own domain
            tries=self._tries,
            timeout=self._patience_s,
        )

    def _remember(self, name: str, found: _Found) -> None:
        if (old := self._found.pop(name, None)) is not None:
            self._weight -= old.weight
        self._found[name] = found
        self._weight += found.weight
        while self._weight > MOST_REMEMBERED:
            _, oldest = self._found.popitem(last=False)
            self._weight -= oldest.weight


async def _answer(dns: aiodns.DNSResolver, name: str) -> pycares.AddrInfoResult:
    return await dns.getaddrinfo(name, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=AI_NOSORT)


def _code(trouble: aiodns.error.DNSError) -> int | None:
    return trouble.args[0] if trouble.args else None


def in_turns(addresses: Iterable[str]) -> list[str]:
    """IPv4 and IPv6 alternating, IPv4 first, each in the order given, so that the few that are tried include both."""
    every = list(addresses)
    old, new = [text for text in every if ":" not in text], [text for text in every if ":" in text]
    return [text for pair in zip_longest(old, new) for text in pair if text is not None]


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def real_network(outside: Outside) -> Network:
    return Network(DnsResolver(outside.clock), DirectDialer())
