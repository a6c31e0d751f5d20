"""The resolver against a name server on loopback. FAULTS D1 and D12."""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping

import pytest

from gossamer.fetch import resolve
from gossamer.fetch.resolve import DnsResolver
from gossamer.testing import FakeClock

NXDOMAIN, SERVFAIL = 3, 2


class NameServer(asyncio.DatagramProtocol):
    """Answers A and AAAA questions from a table; other names do not exist."""

    def __init__(self, table: Mapping[str, tuple[int, list[str]] | int | None]) -> None:
        self._table = table
        self.asked: list[tuple[str, int]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, question: bytes, peer: tuple[str, int]) -> None:
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind = struct.unpack(">H", question[at + 1 : at + 3])[0]
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        found = self._table.get(name, NXDOMAIN)
        if found is None:
            return
        code, records = (found, []) if isinstance(found, int) else (0, _records(found, kind))
        head = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        self._transport.sendto(head + question[12 : at + 5] + b"".join(records), peer)


def _records(found: tuple[int, list[str]], kind: int) -> list[bytes]:
    ttl, addresses = found
    family, wanted = (socket.AF_INET, "." if kind == 1 else None) if kind == 1 else (socket.AF_INET6, ":")
    packed = [socket.inet_pton(family, text) for text in addresses if wanted in text]
    return [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(raw)) + raw for raw in packed]


def with_names(table, ask: Callable):
    async def run():
        loop = asyncio.get_running_loop()
        transport, server = await loop.create_datagram_endpoint(lambda: NameServer(table), local_addr=("127.0.0.1", 0))
        port = transport.get_extra_info("sockname")[1]
        clock = FakeClock()
        try:
            async with DnsResolver(clock, servers=(f"127.0.0.1:{port}",), tries=1, patience_s=0.2) as resolver:
                return await ask(resolver, server, clock)
        finally:
            transport.close()

    return asyncio.run(run())


def test_both_families_are_found():
    async def ask(resolver, server, clock):
        return await resolver.addresses("Both.test")

    found = with_names({"both.test": (60, ["20.0.0.1", "20.0.0.2", "2606:4700::1"])}, ask)
    assert set(found) == {"20.0.0.1", "20.0.0.2", "2606:4700::1"}


def test_an_answer_is_remembered_for_its_time_to_live():
    async def ask(resolver, server, clock):
        asked = []
        for pause_s in (0, 59, 2):  # c-ares remembers too, by the real time: what counts is that we ask it
            clock.advance(pause_s)
            assert await resolver.addresses("a.test") == ["20.0.0.1"]
            asked.append(resolver._asked)
        return asked

    assert with_names({"a.test": (60, ["20.0.0.1"])}, ask) == [1, 1, 2]


def test_F_D1_a_name_that_does_not_exist_is_remembered_for_five_minutes_at_most():
    async def ask(resolver, server, clock):
        assert await resolver.addresses("none.test") == []
        first = len(server.asked)
        assert await resolver.addresses("none.test") == []
        second = len(server.asked)
        clock.advance(301)
        assert await resolver.addresses("none.test") == []
        return first, second, len(server.asked)

    first, second, third = with_names({}, ask)
    assert first == second < third


@pytest.mark.parametrize("fault", [SERVFAIL, None])
def test_F_D1_a_server_that_fails_or_keeps_silent_is_an_error_and_not_asked_at_once_again(fault):
    async def ask(resolver, server, clock):
        with pytest.raises(OSError, match=r"bad\.test"):
            await resolver.addresses("bad.test")
        asked = len(server.asked)
        with pytest.raises(OSError):
            await resolver.addresses("bad.test")
        return asked, len(server.asked)

    before, after = with_names({"bad.test": fault}, ask)
    assert before == after


def test_F_D1_an_empty_answer_means_no_address():
    async def ask(resolver, server, clock):
        return await resolver.addresses("empty.test")

    assert with_names({"empty.test": (60, [])}, ask) == []


def test_F_D12_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(resolve, "MOST_NAMES", 10)
    monkeypatch.setattr(resolve, "FLUSH_AFTER", 3)

    async def ask(resolver, server, clock):
        for number in range(30):
            assert await resolver.addresses(f"h{number}.test") == ["20.0.0.1"]
        return len(resolver._found)

    assert with_names({f"h{number}.test": (60, ["20.0.0.1"]) for number in range(30)}, ask) == 10
