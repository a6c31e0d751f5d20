"""The registry of hostile behaviours, and what their functions are written with.

A behaviour is one small function, registered under its id in the catalogue of faults. It writes to the raw socket, so
that nothing is too wrong to be sent. `behaviours/` holds them by subject; `server.py` serves them.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import trustme
from tests.hostile.names import Reply

MIB = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
FOUND = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
DOMAIN = "test"

Write = asyncio.StreamWriter


class Asked(NamedTuple):
    """A request, as far as a behaviour may care."""

    host: str = ""
    target: str = "/"
    times: int = 0
    """How often the same was asked before."""
    head: bytes = b""


Act = Callable[[Write, Asked], Awaitable[None]]
Context = Callable[[trustme.CA, str], ssl.SSLContext]
"""What a TLS server presents: made from the authority that the crawler trusts and the server's host name."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One way to misbehave, and on what occasion."""

    name: str
    act: Act
    on_robots: bool = False
    """It is the answer to /robots.txt; other targets get an ordinary page."""
    replies: tuple[Reply, ...] = ()
    """What the name server says of its host, one after the other; nothing: its one address."""
    context: Context | None = None
    """It is served over TLS; see `raw_tls` for what comes instead of a handshake."""
    raw_tls: bool = False
    """It acts on the TLS port as soon as a connection stands."""
    keeps_alive: bool = False
    """It is asked again over the same connection."""
    hosts: tuple[str, ...] = ()
    """Further host names that it answers for; `*.` at the front stands for every name below."""
    is_site: bool = False
    """It answers every target, /robots.txt among them."""
    is_step: bool = False
    """A part of another behaviour: it has no host of its own."""

    @property
    def host(self) -> str:
        return f"{self.name.lower()}.{DOMAIN}"

    @property
    def url(self) -> str:
        return f"{'https' if self.context or self.raw_tls else 'http'}://{self.host}/"

    @property
    def says(self) -> str:
        return (self.act.__doc__ or "").strip().partition("\n")[0]


BEHAVIOURS: dict[str, Behaviour] = {}


def add(one: Behaviour) -> None:
    assert one.name not in BEHAVIOURS, f"{one.name} is registered twice"
    BEHAVIOURS[one.name] = one


def behaviour(
    name: str,
    *,
    on_robots: bool = False,
    replies: tuple[Reply, ...] = (),
    raw_tls: bool = False,
    keeps_alive: bool = False,
    hosts: tuple[str, ...] = (),
) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        add(Behaviour(name, act, on_robots, replies, None, raw_tls, keeps_alive, hosts))
        return act

    return register


def sending(pieces: Iterable[bytes], says: str) -> Act:
    async def write_all(write: Write, asked: Asked) -> None:
        for piece in pieces:
            write.write(piece)
            await write.drain()

    write_all.__doc__ = says
    return write_all


def sends(name: str, *pieces: bytes, says: str, on_robots: bool = False, is_step: bool = False) -> None:
    """A behaviour that writes these bytes, one write each, and closes."""
    add(Behaviour(name, sending(pieces, says), on_robots=on_robots, is_step=is_step))


def makes(name: str, make: Callable[[], bytes], says: str, fields: bytes = b"", on_robots: bool = False) -> None:
    """A behaviour that answers with a body which is large, and so made when it is asked for. It is made on a thread:
    other hosts are served meanwhile."""

    async def write_made(write: Write, asked: Asked) -> None:
        body = await asyncio.to_thread(make)
        write.write(whole(body, fields))
        await write.drain()

    write_made.__doc__ = says
    add(Behaviour(name, write_made, on_robots=on_robots))


def whole(body: bytes, fields: bytes = b"") -> bytes:
    """An answer in order; a Content-Type among `fields` replaces the usual one."""
    head = b"HTTP/1.1 200 OK\r\n" if b"content-type:" in fields.lower() else OK
    return head + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


def page(title: str, *links: str, body: str = "", head: str = "") -> bytes:
    """An answer with a small ordinary page."""
    ways = "".join(f'<p><a href="{link}">{link[-40:]}</a></p>' for link in links)
    return whole(f"<!DOCTYPE html><title>{title}</title>{head}<h1>{title}</h1><p>{body}</p>{ways}".encode())


def moved(to: str | bytes, status: int = 302) -> bytes:
    target = to if isinstance(to, bytes) else to.encode()
    return b"HTTP/1.1 %d Moved\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % (status, target)


def tear_down(write: Write) -> None:
    """RST instead of FIN."""
    write.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    write.transport.abort()
