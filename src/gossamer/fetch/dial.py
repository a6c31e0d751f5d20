"""The only place that opens connections: name, guard, dialer, socket, TLS, in this order and never round it.

aiohttp's connector and session are left out: what is used of aiohttp is the protocol with its parser and flow control.
That halves the cost of a fetch, and leaves nothing that could follow a redirect, read a proxy variable, a .netrc or a
cookie.
"""

import asyncio
import contextlib
import socket
import ssl
from collections import OrderedDict
from typing import NamedTuple

import aiohappyeyeballs
from aiohttp.client_proto import ResponseHandler
from aiohttp.helpers import _EXC_SENTINEL
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong, TransferEncodingError

from gossamer.clock import Clock
from gossamer.fetch.guard import BAD_PORTS, address_of, forbidden, forbidden_name, is_opened, ranges
from gossamer.fetch.seams import Dialer, Endpoint, Resolver
from gossamer.fetch.settings import Fetch
from gossamer.values.outcome import Failed, Reason, Refused
from gossamer.values.tell import Tell
from gossamer.values.url import Url

SLICE = 32 * 1024
FRAMING = 64 * 1024
NEXT_ADDRESS_AFTER_S = 0.25
"""RFC 8305, 5: a second address is tried while the first has not answered for so long."""
MOST_ADDRESSES_TRIED = 8


class Protocol(ResponseHandler):
    """aiohttp's protocol and parser, held to what an answer may cost.

    Bounded are the bytes before its headers are whole, the bytes that frame its body (chunk sizes, extensions,
    trailers), and how much is parsed in one turn of the loop: a read may bring 40,000 chunks of one byte.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._backlog = b""
        self._wire = 0
        self._head_limit = 0
        self._has_head = False

    def expect(self, head_limit: int) -> None:
        """A question goes out: count anew."""
        self._wire, self._head_limit, self._has_head = 0, head_limit, False
        self._payload = None  # the last answer's

    def data_received(self, data: bytes) -> None:
        if len(data) <= SLICE:
            self._take(data)
            return
        for start in range(0, len(data), SLICE):
            self._take(data[start : start + SLICE])
            if self._reading_paused:
                self._backlog = data[start + SLICE :]
                return

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Readers call this after every piece, though reading was hardly ever paused: then there is nothing to do."""
        if not (self._reading_paused or self._buffer_paused):
            return
        if self._backlog:
            waiting, self._backlog, self._reading_paused = self._backlog, b"", False
            self.data_received(waiting)
            if self._reading_paused:
                return
        super().resume_reading(resume_parser)

    def _take(self, data: bytes) -> None:
        super().data_received(data)
        self._wire += len(data)
        if self._payload is None or not self._has_head:
            if self._payload is not None:
                self._has_head = True
            elif self._wire > self._head_limit:
                self._give_up(LineTooLong(b"header fields"))
        elif self._wire > self._head_limit + FRAMING + 4 * self._payload.total_bytes:
            self._give_up(TransferEncodingError("more framing than content"))

    def _give_up(self, why: HttpProcessingError) -> None:
        if self._exception is None and self.transport is not None:
            self.set_exception(why)
            self._payload = None  # or its reader would be told of the end of the connection instead
            self.transport.abort()

    def set_exception(self, exc: BaseException, exc_cause: BaseException = _EXC_SENTINEL) -> None:
        """Whoever is reading the body is told too: aiohttp lets them wait when a chunk goes wrong."""
        super().set_exception(exc, exc_cause)
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, exc_cause)


class Connection(NamedTuple):
    protocol: Protocol
    origin: str
    address: str
    """The checked address that was dialled."""
    is_new: bool


class _Idle(NamedTuple):
    connection: Connection
    since_s: float


class Connections:
    """Opens connections to origins and keeps used ones for a while, at most one an origin."""

    def __init__(self, settings: Fetch, resolver: Resolver, dialer: Dialer, clock: Clock, tell: Tell) -> None:
        self._settings, self._resolver, self._dialer = settings, resolver, dialer
        self._clock, self._tell = clock, tell
        self._opened = ranges(settings.allow_addresses)
        self._idle: OrderedDict[str, _Idle] = OrderedDict()
        self._tls: ssl.SSLContext | None = None

    def open(self) -> None:
        self._tls = ssl.create_default_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        if self._settings.tls_authorities is not None:
            self._tls.load_verify_locations(cafile=self._settings.tls_authorities)

    def close(self) -> None:
        for idle in self._idle.values():
            idle.connection.protocol.abort()
        self._idle.clear()

    def kept(self, origin: str) -> Connection | None:
        """A connection left from an earlier visit that the other side has neither closed nor spoken on."""
        idle = self._idle.pop(origin, None)
        if idle is None:
            return None
        protocol = idle.connection.protocol
        if self._clock.elapsed_s() - idle.since_s < self._settings.idle_s and _is_usable(protocol):
            return idle.connection
        protocol.abort()
        return None

    def keep(self, connection: Connection) -> None:
        """Give a connection back after a whole answer; it is closed when it cannot be used again."""
        if not _is_usable(connection.protocol):
            connection.protocol.abort()
            return
        now_s = self._clock.elapsed_s()
        if (older := self._idle.pop(connection.origin, None)) is not None:
            older.connection.protocol.abort()
        self._idle[connection.origin] = _Idle(connection._replace(is_new=False), now_s)
        oldest = next(iter(self._idle.values()))
        while len(self._idle) > self._settings.at_once or now_s - oldest.since_s > self._settings.idle_s:
            oldest.connection.protocol.abort()
            del self._idle[oldest.connection.origin]
            oldest = next(iter(self._idle.values()))

    async def dial(self, url: Url) -> Connection | Refused | Failed:
        """A new connection. All addresses of the name are checked, and nothing but these addresses is dialled."""
        found = await self._checked(url)
        if not isinstance(found, list):
            return found
        try:
            endpoints = {self._dialer.endpoint(address, url.port): address for address in found}
            protocol, peer = await self._connect(url, list(endpoints))
        except (ssl.SSLError, ssl.CertificateError) as trouble:
            return Failed(Reason.TLS, _tls_words(trouble))
        except ConnectionAbortedError as trouble:  # the handshake was cut off
            return Failed(Reason.TLS if url.scheme == "https" else Reason.CONNECT, str(trouble))
        except OSError as trouble:
            return Failed(Reason.CONNECT, str(trouble))
        return Connection(protocol, url.origin, endpoints.get(peer, peer.address), is_new=True)

    async def _checked(self, url: Url) -> list[str] | Refused | Failed:
        hostname, port = url.hostname, url.port
        if port in BAD_PORTS:
            return self._refuse(url, f"port {port} is not for web pages")
        if why := forbidden_name(hostname, self._opened):
            return self._refuse(url, why)
        literal = address_of(hostname)
        try:
            found = [literal] if literal else await self._resolver.addresses(hostname)
        except OSError as trouble:
            return Failed(Reason.DNS, str(trouble))
        if not found:
            return Failed(Reason.DNS, f"{hostname} has no address")
        for address in found:  # one bad address spoils the name: the good ones are a lure
            if why := forbidden(address, self._opened):
                return self._refuse(url, why)
        if self._settings.contact is None and not all(is_opened(address, self._opened) for address in found):
            return Refused(Reason.CONTACT, f"{hostname} is public, and no contact is set")
        return [address_of(address) or address for address in found[:MOST_ADDRESSES_TRIED]]

    def _refuse(self, url: Url, why: str) -> Refused:
        self._tell("address.refused", url=url.text, why=why)
        return Refused(Reason.ADDRESS, why)

    async def _connect(self, url: Url, endpoints: list[Endpoint]) -> tuple[Protocol, Endpoint]:
        loop = asyncio.get_running_loop()
        tls, name = (self._tls, url.hostname.rstrip(".")) if url.scheme == "https" else (None, None)
        if len(endpoints) == 1:
            host, port = endpoints[0]
            _, protocol = await loop.create_connection(
                lambda: Protocol(loop), host, port, ssl=tls, server_hostname=name
            )
            return protocol, endpoints[0]
        sock = await aiohappyeyeballs.start_connection(
            [_addr_info(endpoint) for endpoint in endpoints], happy_eyeballs_delay=NEXT_ADDRESS_AFTER_S, loop=loop
        )
        there, port = sock.getpeername()[:2]
        peer = Endpoint(address_of(there) or there, port)  # the system may spell a mapped address another way
        with contextlib.ExitStack() as unless_taken:
            unless_taken.callback(sock.close)
            _, protocol = await loop.create_connection(lambda: Protocol(loop), sock=sock, ssl=tls, server_hostname=name)
            unless_taken.pop_all()
        return protocol, peer


def _is_usable(protocol: Protocol) -> bool:
    return protocol.is_connected() and not protocol.should_close


def _addr_info(
    endpoint: Endpoint,
) -> tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]:
    """What getaddrinfo would say of a numeric address, without asking anybody."""
    if ":" in endpoint.address:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (endpoint.address, endpoint.port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (endpoint.address, endpoint.port))


def _tls_words(trouble: ssl.SSLError) -> str:
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"certificate: {trouble.verify_message}"
    return trouble.reason or str(trouble)
