"""A name server on loopback with the replies of a test: UDP, and TCP for replies too long for it."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple, Self

A, AAAA, CNAME = 1, 28, 5
SERVFAIL, NXDOMAIN = 2, 3
LONGEST_DATAGRAM = 1232
TRUNCATED = 0x0200


class Reply(NamedTuple):
    """The reply to a query; none with `is_silent`."""

    addresses: tuple[str, ...] = ()
    ttl_s: int = 60
    code: int = 0
    aliases: int = 0
    """CNAME records between the name and its addresses."""
    is_loop: bool = False
    """The last alias leads back to the first, and there is no address."""
    is_silent: bool = False
    is_garbage: bool = False


ABSENT = Reply(code=NXDOMAIN)
Table = Mapping[str, Reply | list[Reply]]
"""A list gives one reply after the other, then the last one again, counted by type of query. `*.` at the front of a
name stands for every label there."""


class NameServer:
    """`async with NameServer(table) as server`; names that are not in the table do not exist."""

    def __init__(self, table: Table, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._table = {name: reply if isinstance(reply, list) else [reply] for name, reply in table.items()}
        self._turns: dict[tuple[str, int], int] = {}
        self.asked: list[tuple[str, int]] = []
        self.most_at_once = 0
        self.delay_s = 0.0
        self.over_tcp = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = port

    @property
    def address(self) -> str:
        return f"{self._host}:{self.port}"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._tcp = await asyncio.start_server(self._serve_tcp, self._host, self.port)
        self.port = self._tcp.sockets[0].getsockname()[1]
        self._udp, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), local_addr=(self._host, self.port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._udp.close()
        self._tcp.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def times(self, name: str) -> int:
        """How many queries for its IPv4 addresses came."""
        return self.asked.count((name, A))

    def answer(self, question: bytes) -> bytes | None:
        name, kind, end = _question(question)
        self.asked.append((name, kind))
        turn = self._turns.get((name, kind), 0)
        self._turns[(name, kind)] = turn + 1
        replies = self._table.get(name) or self._table.get(f"*.{name.partition('.')[2]}", [ABSENT])
        reply = replies[min(turn, len(replies) - 1)]
        if reply.is_silent:
            return None
        if reply.is_garbage:
            return question[:2] + b"\xff" * 40
        records = _records(name, reply, kind)
        head = question[:2] + struct.pack(">HHHHH", 0x8180 | reply.code, 1, len(records), 0, 0)
        return head + question[12:end] + b"".join(records)

    def take(self, question: bytes, peer: tuple[str, int]) -> None:
        task = asyncio.get_running_loop().create_task(self._serve_udp(question, peer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.most_at_once = max(self.most_at_once, len(self._tasks))

    async def _serve_udp(self, question: bytes, peer: tuple[str, int]) -> None:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        answer = self.answer(question)
        if answer is not None and len(answer) > LONGEST_DATAGRAM:
            _, _, end = _question(question)
            self._turns[_question(question)[:2]] -= 1  # the query is repeated over TCP
            answer = question[:2] + struct.pack(">HHHHH", 0x8180 | TRUNCATED, 1, 0, 0, 0) + question[12:end]
        if answer is not None:
            self._udp.sendto(answer, peer)

    async def _serve_tcp(self, read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (length,) = struct.unpack(">H", await read.readexactly(2))
                self.over_tcp += 1
                answer = self.answer(await read.readexactly(length))
                if answer is not None:
                    write.write(struct.pack(">H", len(answer)) + answer)
                    await write.drain()
        write.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._server.take(data, addr)


def _question(packet: bytes) -> tuple[str, int, int]:
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels).lower(), struct.unpack(">H", packet[at + 1 : at + 3])[0], at + 5


def _records(name: str, reply: Reply, kind: int) -> list[bytes]:
    owners = [name, *[f"alias{number}.{name}" for number in range(1, reply.aliases + 1)]]
    records = [_record(owner, CNAME, reply.ttl_s, _name(target)) for owner, target in pairwise(owners)]
    if reply.is_loop:
        return [*records, _record(owners[-1], CNAME, reply.ttl_s, _name(owners[0]))]
    family, mark = (socket.AF_INET, ".") if kind == A else (socket.AF_INET6, ":")
    owner = b"\xc0\x0c" if not reply.aliases else None
    for text in reply.addresses:
        if (":" in text) == (mark == ":") and kind in (A, AAAA):
            records.append(_record(owners[-1], kind, reply.ttl_s, socket.inet_pton(family, text), owner))
    return records


def _record(owner: str, kind: int, ttl_s: int, content: bytes, short: bytes | None = None) -> bytes:
    return (short or _name(owner)) + struct.pack(">HHIH", kind, 1, ttl_s, len(content)) + content


def _name(text: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".")) + b"\0"
