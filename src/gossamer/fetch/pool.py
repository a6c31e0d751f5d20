"""The only place that opens connections, always in this order: resolver, guard, dialer, socket, TLS.

Of HTTP libraries only a parser is used (`fetch/wire.py`). That halves the cost of a fetch, and nothing could follow
a redirect or use a proxy variable, a .netrc or a cookie.
"""

import asyncio
import contextlib
import os
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import aiohappyeyeballs

from gossamer.base.clock import Clock
from gossamer.base.environment import Endpoint, Network
from gossamer.base.tell import Tell
from gossamer.config.slices import Fetch
from gossamer.fetch.guard import BAD_PORTS, address_of, forbidden, forbidden_name, is_opened, ranges
from gossamer.fetch.wire import Protocol
from gossamer.values.outcome import Failed, Reason, Refused
from gossamer.values.url import Url

NEXT_ADDRESS_AFTER_S = 0.25
"""RFC 8305, 5: a second address is tried when the first has not answered for this long."""
MOST_ADDRESSES_TRIED = 8


class PooledConnection(NamedTuple):
    protocol: Protocol
    origin: str
    address: str
    """The checked address that was dialled."""
    is_new: bool
    distrust: str = ""
    """Why the server's certificate was not accepted, where that is allowed."""


class Streams(NamedTuple):
    """A connection for a protocol that is not HTTP."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: str
    """The checked address that was dialled."""
    distrust: str = ""


P = TypeVar("P", bound=asyncio.Protocol)


@dataclass(frozen=True, slots=True)
class _Dialled(Generic[P]):
    transport: asyncio.Transport
    protocol: P
    address: str
    distrust: str


class Connections:
    """Opens connections to origins, and keeps used ones for a while, at most one for each origin."""

    def __init__(self, settings: Fetch, network: Network, clock: Clock, tell: Tell) -> None:
        self.settings, self.clock, self.tell = settings, clock, tell
        self._network = network
        self._opened = ranges(settings.allow_addresses)
        self._idle: OrderedDict[str, tuple[PooledConnection, float]] = OrderedDict()
        """By origin, with the time since when; the longest idle first."""
        self._trust: Trust | None = None

    def open(self) -> None:
        self._trust = trust_of(self.settings)

    def close(self) -> None:
        for connection, _ in self._idle.values():
            connection.protocol.abort()
        self._idle.clear()

    def kept(self, origin: str) -> PooledConnection | None:
        """An idle connection that the server has neither closed nor sent anything on."""
        connection, since_s = self._idle.pop(origin, (None, 0.0))
        if connection is None:
            return None
        if self.clock.elapsed_s() - since_s < self.settings.idle_s and connection.protocol.is_quiet():
            return connection
        connection.protocol.abort()
        return None

    def keep(self, connection: PooledConnection) -> None:
        """Return a connection after a whole response; it is closed if it cannot be used again."""
        if not connection.protocol.is_usable():
            connection.protocol.abort()
            return
        now_s = self.clock.elapsed_s()
        older, _ = self._idle.pop(connection.origin, (None, 0.0))
        if older is not None:
            older.protocol.abort()
        self._idle[connection.origin] = connection._replace(is_new=False), now_s
        oldest, since_s = next(iter(self._idle.values()))
        while len(self._idle) > self.settings.at_once or now_s - since_s > self.settings.idle_s:
            oldest.protocol.abort()
            del self._idle[oldest.origin]
            oldest, since_s = next(iter(self._idle.values()))

    async def dial(self, url: Url) -> PooledConnection | Refused | Failed:
        """A new connection. All addresses of the name are checked, and only these are dialled."""
        loop = asyncio.get_running_loop()
        found = await self._dialled(url, lambda: Protocol(loop), url.scheme == "https")
        if not isinstance(found, _Dialled):
            return found
        return PooledConnection(found.protocol, url.origin, found.address, is_new=True, distrust=found.distrust)

    async def streams(self, url: Url, with_tls: bool) -> Streams | Refused | Failed:
        """The same for a protocol that is not HTTP: a connection for one request, to the host of `url` only."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        found = await self._dialled(url, lambda: asyncio.StreamReaderProtocol(reader, loop=loop), with_tls)
        if not isinstance(found, _Dialled):
            return found
        writer = asyncio.StreamWriter(found.transport, found.protocol, reader, loop)
        return Streams(reader, writer, found.address, found.distrust)

    async def _dialled(self, url: Url, make: Callable[[], P], with_tls: bool) -> "_Dialled[P] | Refused | Failed":
        if url.port in BAD_PORTS:
            found: list[str] | Refused | Failed = Refused(Reason.ADDRESS, f"port {url.port} is not for web pages")
        else:
            found = await self._checked(url.hostname)
        if not isinstance(found, list):
            if found.reason is Reason.ADDRESS:
                self.tell("address.refused", url=url.text, why=found.detail)
            return found
        try:
            endpoints: dict[Endpoint, str] = {}
            for address in found:
                endpoints.setdefault(self._network.dialer.endpoint(address, url.port), address)
            transport, protocol, peer, distrust = await self._connect(url, list(endpoints), make, with_tls)
        except (ssl.SSLError, ssl.CertificateError) as trouble:
            self.tell("tls.failed", url=url.text, trouble=in_full(trouble))
            return Failed(Reason.TLS, in_words(trouble))
        except (ConnectionAbortedError, ConnectionResetError, BrokenPipeError):
            reason = Reason.TLS if with_tls else Reason.CONNECT
            return Failed(reason, "cut off before it was established")
        except OSError as trouble:
            return Failed(Reason.CONNECT, plain(trouble))
        return _Dialled(transport, protocol, endpoints.get(peer, peer.address), distrust)

    async def address_of(self, hostname: str) -> str | None:
        """The checked IP address that would be dialled first; None if there is none, or none that may be dialled."""
        try:
            async with asyncio.timeout(self.settings.connect_s):
                found = await self._checked(hostname)
        except TimeoutError:
            return None
        return found[0] if isinstance(found, list) else None

    async def _checked(self, hostname: str) -> list[str] | Refused | Failed:
        """The IP addresses of a name that may be dialled, in the order in which they are tried."""
        if why := forbidden_name(hostname, self._opened):
            return Refused(Reason.ADDRESS, why)
        literal = address_of(hostname)
        try:
            found = [literal] if literal else await self._network.resolver.addresses(hostname)
        except OSError:
            return Failed(Reason.DNS, f"{hostname} cannot be resolved")
        if not found:
            return Failed(Reason.DNS, f"{hostname} has no IP address")
        for address in found:  # one forbidden address excludes the name: it has good ones only as a lure
            if why := forbidden(address, self._opened):
                return Refused(Reason.ADDRESS, why)
        if self.settings.contact is None and not all(is_opened(address, self._opened) for address in found):
            return Refused(Reason.CONTACT, f"{hostname} is public, and no contact is set")
        return [address_of(address) or address for address in found[:MOST_ADDRESSES_TRIED]]

    async def _connect(
        self, url: Url, endpoints: list[Endpoint], make: Callable[[], P], with_tls: bool
    ) -> tuple[asyncio.Transport, P, Endpoint, str]:
        """The connection, its endpoint, and why the server's certificate was not accepted, if it was not."""
        if not with_tls:
            return *await _connected(url, endpoints, make, None), ""
        assert self._trust is not None
        try:
            return *await _connected(url, endpoints, make, self._trust.verified), ""
        except ssl.SSLCertVerificationError as trouble:
            if self._trust.unverified is None:
                raise
            distrust = in_full(trouble)
        return *await _connected(url, endpoints, make, self._trust.unverified), distrust


async def _connected(
    url: Url, endpoints: list[Endpoint], make: Callable[[], P], tls: ssl.SSLContext | None
) -> tuple[asyncio.Transport, P, Endpoint]:
    loop = asyncio.get_running_loop()
    name = url.hostname.rstrip(".") if tls is not None else None
    if len(endpoints) == 1:
        host, port = endpoints[0]
        transport, protocol = await loop.create_connection(make, host, port, ssl=tls, server_hostname=name)
        return transport, protocol, endpoints[0]
    sock = await aiohappyeyeballs.start_connection(
        [_addr_info(endpoint) for endpoint in endpoints], happy_eyeballs_delay=NEXT_ADDRESS_AFTER_S, loop=loop
    )
    there, port = sock.getpeername()[:2]
    peer = Endpoint(address_of(there) or there, port)  # the system may write a mapped address differently
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(sock.close)
        transport, protocol = await loop.create_connection(make, sock=sock, ssl=tls, server_hostname=name)
        on_failure.pop_all()
    return transport, protocol, peer


def _addr_info(endpoint: Endpoint) -> aiohappyeyeballs.AddrInfoType:
    """As getaddrinfo returns it for a numeric address, without a query."""
    if ":" in endpoint.address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (*endpoint, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (*endpoint,)


def plain(trouble: OSError) -> str:
    """Why there is no connection: the system's message without what Python adds."""
    return os.strerror(trouble.errno).lower() if trouble.errno else "no IP address of the host could be reached"


class Trust(NamedTuple):
    verified: ssl.SSLContext
    unverified: ssl.SSLContext | None
    """Only with `tls = "record"`: tried after `verified` has rejected the certificate."""


def trust_of(settings: Fetch) -> Trust:
    """Both accept TLS 1.2 and later. Nothing secret is ever sent, so a wrong server could learn nothing."""
    verified = ssl.create_default_context()
    if settings.tls_authorities is not None:
        verified.load_verify_locations(cafile=settings.tls_authorities)
    unverified = None
    if settings.tls == "record":
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
    for context in filter(None, (verified, unverified)):
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
    return Trust(verified, unverified)


CERTIFICATES = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is self-signed",
    19: "the certificate's authority is not trusted",
    **dict.fromkeys((20, 21), "the certificate's authority is not known, or an intermediate certificate is not sent"),
    23: "the certificate has been revoked",
    62: "the certificate is for a name other than this host's",
    64: "the certificate is for an IP address other than this host's",
}
"""By OpenSSL's error number."""
HANDSHAKES = {
    **dict.fromkeys(
        ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"), "the server does not use TLS there"
    ),
    "UNSUPPORTED_PROTOCOL": "the server only supports versions of TLS before 1.2",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the server does not accept the versions of TLS that are offered (1.2 and 1.3)",
    **dict.fromkeys(
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "NO_SHARED_CIPHER"), "the server accepts none of the ciphers that are offered"
    ),
    **dict.fromkeys(("DH_KEY_TOO_SMALL", "EE_KEY_TOO_SMALL"), "the server's key is too weak"),
    "CA_MD_TOO_WEAK": "the certificate is signed in a way that is too weak",
    **dict.fromkeys(
        ("TLSV1_UNRECOGNIZED_NAME", "TLSV1_ALERT_UNRECOGNIZED_NAME"), "the server does not know this host's name"
    ),
    "UNEXPECTED_EOF_WHILE_READING": "the server closed the connection during the TLS handshake",
}
"""By OpenSSL's name of the error in the TLS handshake."""


def in_words(trouble: ssl.SSLError | ssl.CertificateError) -> str:
    """For people; `in_full` has the library's message."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return CERTIFICATES.get(trouble.verify_code, "the certificate cannot be trusted")
    return HANDSHAKES.get(trouble.reason or "", "the TLS handshake failed")


def in_full(trouble: ssl.SSLError | ssl.CertificateError) -> str:
    """For the log, and for the archive, where a capture records why its server is not trusted."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"certificate: {trouble.verify_message}"
    return getattr(trouble, "reason", None) or str(trouble)
