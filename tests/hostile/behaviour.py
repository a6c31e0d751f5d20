"""The registry of hostile behaviours, and helpers to write them with.

A behaviour is one small function, registered under its id in the catalogue of bad input. It writes to the raw socket,
so it can send any bytes. `behaviours/` holds them by subject; `server.py` serves them.
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


class Request(NamedTuple):
    """The parts of a request that a behaviour may use."""

    host: str = ""
    target: str = "/"
    times: int = 0
    """How many requests for the same target came before."""
    head: bytes = b""


Act = Callable[[Write, Request], Awaitable[None]]
Context = Callable[[trustme.CA, str], ssl.SSLContext]
"""Makes the TLS context of a server, from the authority that the crawler trusts and the server's host name."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One way to misbehave, and for which requests."""

    name: str
    act: Act
    on_robots: bool = False
    """It is the answer to /robots.txt; other targets get an ordinary page."""
    replies: tuple[Reply, ...] = ()
    """Replies of the name server for its host, one after the other; if there are none, its one IP address."""
    context: Context | None = None
    """It is served over TLS; `raw_tls` replaces the handshake."""
    raw_tls: bool = False
    """It acts on the TLS port as soon as a connection is open."""
    keeps_alive: bool = False
    """It answers further requests on the same connection."""
    hosts: tuple[str, ...] = ()
    """Further host names that it answers for; a leading `*.` stands for every subdomain."""
    is_site: bool = False
    """It answers every target, including /robots.txt."""
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
    async def write_all(write: Write, request: Request) -> None:
        for piece in pieces:
            write.write(piece)
            await write.drain()

    write_all.__doc__ = says
    return write_all


def sends(name: str, *pieces: bytes, says: str, on_robots: bool = False, is_step: bool = False) -> None:
    """A behaviour that writes these bytes, one write each, and closes."""
    add(Behaviour(name, sending(pieces, says), on_robots=on_robots, is_step=is_step))


def makes(name: str, make: Callable[[], bytes], says: str, fields: bytes = b"", on_robots: bool = False) -> None:
    """A behaviour that answers with a large body, made when it is requested, on a thread: other hosts are served
    meanwhile."""

    async def write_made(write: Write, request: Request) -> None:
        body = await asyncio.to_thread(make)
        write.write(whole(body, fields))
        await write.drain()

    write_made.__doc__ = says
    add(Behaviour(name, write_made, on_robots=on_robots))


def whole(body: bytes, fields: bytes = b"") -> bytes:
    """A correct response; a Content-Type among `fields` replaces the usual one."""
    head = b"HTTP/1.1 200 OK\r\n" if b"content-type:" in fields.lower() else OK
    return head + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


def page(title: str, *links: str, body: str = "", head: str = "") -> bytes:
    """A response with a small ordinary page."""
    anchors = "".join(f'<p><a href="{link}">{link[-40:]}</a></p>' for link in links)
    return whole(f"<!DOCTYPE html><title>{title}</title>{head}<h1>{title}</h1><p>{body}</p>{anchors}".encode())


def moved(to: str | bytes, status: int = 302) -> bytes:
    target = to if isinstance(to, bytes) else to.encode()
    return b"HTTP/1.1 %d Moved\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % (status, target)


def reset_connection(write: Write) -> None:
    """RST instead of FIN."""
    write.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    write.transport.abort()
