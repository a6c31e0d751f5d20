"""The HTTP client: a GET, a response within limits, a typed outcome.

Nothing else in the program makes requests.
"""

import asyncio
import re
from collections.abc import Callable
from io import BytesIO
from itertools import chain
from typing import Self

from multidict import CIMultiDict, CIMultiDictProxy

from gossamer import __version__
from gossamer.base.errors import ConfigError
from gossamer.config.slices import Fetch
from gossamer.fetch.answer import (
    UNVERIFIED,
    JudgeType,
    ResponseHead,
    is_what_we_have,
    limit_of,
    outcome_of,
    type_refusal,
)
from gossamer.fetch.budget import CROWD, Budget
from gossamer.fetch.pool import Connections, PooledConnection
from gossamer.fetch.protocols import OtherExchange, Protocols
from gossamer.fetch.wire import INVALID, UNANSWERED, Broken, Message
from gossamer.parse.coding import STEP, Decoder, content_codings
from gossamer.values.capture import Capture, Truncated
from gossamer.values.history import Validators
from gossamer.values.outcome import Failed, Outcome, Reason, Refused, Unchanged
from gossamer.values.url import Url
from gossamer.values.visit import VisitKind

MOST_INTERIM = 8
"""Responses with status 1xx that are accepted before the real one."""
BREATH = 8
"""Decoding steps after which the event loop gets a turn at the latest, however little they produced."""


class ResponseBody:
    """The bytes of a body in one buffer: joining a list of pieces would need the memory twice."""

    __slots__ = ("_first", "_more")

    def __init__(self) -> None:
        self._first = b""
        self._more: BytesIO | None = None

    def add(self, piece: bytes) -> None:
        if self._more is not None:
            self._more.write(piece)
        elif not self._first:
            self._first = piece
        else:
            self._more = BytesIO()
            self._more.write(self._first)
            self._more.write(piece)
            self._first = b""

    @property
    def size(self) -> int:
        return len(self._first) if self._more is None else self._more.tell()

    def whole(self) -> bytes:
        """CPython returns the buffer itself, cut to its size, not a copy."""
        return self._first if self._more is None else self._more.getvalue()


class Exchange:
    """One request and its response over one connection, within limits that hold while bytes arrive. Used once."""

    def __init__(
        self, url: Url, kind: VisitKind, depth: int, connections: Connections, budget: Budget, judge_type: JudgeType
    ) -> None:
        self._url, self._kind, self._depth = url, kind, depth
        self._connections, self._budget, self._judge_type = connections, budget, judge_type
        self._settings, self._clock = connections.settings, connections.clock
        self._at, self._begun_s = self._clock.now(), self._clock.elapsed_s()
        self._connection: PooledConnection | None = None
        self._address = self._distrust = ""
        self._message: Message | None = None
        self._kept = ResponseBody()
        self._etag = ""
        self._before_sending: Callable[[], None] = lambda: None
        self._is_slow = False
        self._waited_s = self._head_s = 0.0

    async def run(self, fields: bytes, etag: str = "", before_sending: Callable[[], None] = lambda: None) -> Outcome:
        """`etag`: the one in the request's condition, if it has one. `before_sending`: see `Client.fetch`."""
        self._etag, self._before_sending = etag, before_sending
        try:
            async with asyncio.timeout(self._settings.timeout_s) as deadline:
                trouble = await self._connect() or await self._ask(fields)
                return trouble or await self._receive(deadline)
        except TimeoutError:
            return self._late()
        except Broken as broken:
            return self._cut(broken.reason, broken.words, Truncated.DISCONNECT)
        finally:
            if self._connection is not None:  # not returned to the pool: the response did not end properly
                self._connection.protocol.abort()

    async def _connect(self) -> Refused | Failed | None:
        kept = self._connections.kept(self._url.origin)
        if kept is None:
            return await self._dial()
        self._use(kept)
        return None

    async def _dial(self) -> Refused | Failed | None:
        self._before_sending()
        try:
            async with asyncio.timeout(self._settings.connect_s):
                found = await self._connections.dial(self._url)
        except TimeoutError:
            return Failed(Reason.CONNECT, f"no connection within {self._settings.connect_s:g} s")
        if not isinstance(found, PooledConnection):
            return found
        self._use(found)
        return None

    def _use(self, connection: PooledConnection) -> None:
        self._connection, self._address, self._distrust = connection, connection.address, connection.distrust

    async def _ask(self, fields: bytes) -> Refused | Failed | None:
        """Send the request and wait for the head of the response."""
        request = f"GET {self._url.target} HTTP/1.1\r\nHost: {self._url.host.name}\r\n".encode("ascii") + fields
        try:
            self._message = await self._head(request)
        except Broken as broken:
            # A kept connection may be closed just as it is used again. If not a byte was received, the request is sent
            # once more, on a new connection (RFC 9112, 9.3.1), with an event: it costs the host a request. A request on
            # a new connection is not repeated.
            lost = self._connection
            if broken.reason is not Reason.DISCONNECTED or lost is None or lost.is_new or lost.protocol.has_heard:
                raise
            lost.protocol.abort()
            self._connection = None
            self._connections.tell("connection.replaced", url=self._url.text)
            return await self._dial() or await self._ask(fields)
        return None

    async def _head(self, request: bytes) -> Message:
        assert self._connection is not None
        protocol, settings = self._connection.protocol, self._settings
        if protocol.transport is None:
            raise Broken(Reason.DISCONNECTED, UNANSWERED)
        self._before_sending()  # the name may have taken long to resolve
        protocol.expect(settings.header_limit, settings.header_fields)
        protocol.transport.write(request)
        for _ in range(MOST_INTERIM):
            message = await protocol.message()
            if not 100 <= message.code <= 199 or message.code == 101:
                return message
        raise Broken(Reason.PROTOCOL, INVALID)

    async def _receive(self, deadline: asyncio.Timeout) -> Outcome:
        assert self._message is not None
        self._head_s = self._clock.elapsed_s() - self._begun_s
        status, settings = self._message.code, self._settings
        fields = fields_of(self._message.fields)
        head = ResponseHead(fields)
        if (size := sum(map(len, chain.from_iterable(self._message.fields)))) > settings.header_limit:
            return Failed(Reason.HEADERS_TOO_LARGE, f"{size} bytes of header fields")
        if head.defect is not None or not 200 <= status <= 599:
            return Failed(Reason.PROTOCOL, head.defect or f"status {status}")
        if self._kind is VisitKind.PAGE and 200 <= status < 300:
            if no := type_refusal(
                self._url, head.media_type, self._depth, settings.wanted, self._judge_type, settings.wanted_by_name
            ):
                return no
        if status == 200 and is_what_we_have(fields, head, self._etag):
            return Unchanged(self._capture(Truncated.LENGTH))  # the rest of the body is dropped with its connection
        limit = limit_of(self._kind, status, head.media_type, settings)
        decoder = Decoder(content_codings(head.codings), limit) if head.codings else None
        is_cut = await self._body(limit, min(limit, head.length or limit), decoder, deadline)
        if not is_cut and self._connection is not None:
            self._connections.keep(self._connection)
            self._connection = None
        capture = self._capture(Truncated.LENGTH if is_cut else None)
        if decoder is not None and 200 <= status < 300 and capture.body:
            if not is_cut:
                decoder.end()
            if decoder.problem is not None:
                return Failed(Reason.CODING, decoder.problem, capture)
        flags = ("trailing-bytes",) if decoder is not None and decoder.has_trailing else ()
        if self._distrust:
            flags = (*flags, UNVERIFIED)
        return outcome_of(capture, head, flags, self._clock.now())

    async def _body(self, limit: int, likely: int, decoder: Decoder | None, deadline: asyncio.Timeout) -> bool:
        """Receive the body; True if it was cut at the limit, which applies to bytes as sent and as decoded."""
        assert self._message is not None
        stream, received, work, turns = self._message.body, 0, 0, 0
        held, windows = self._budget.share, 0  # bytes granted for the body, and for the decoder's window
        loop = asyncio.get_running_loop()
        begun, last = loop.time(), deadline.when() or 0.0
        while True:
            piece = stream.read_nowait()
            if not piece:
                if stream.at_eof():
                    return False
                self._is_slow = self._expect(deadline, begun, received, last)
                piece = await stream.readany()
            elif (turns := turns + 1) % 2 == 0:  # what the protocol has buffered may have been costly to parse
                await asyncio.sleep(0)
            received += len(piece)
            if received > limit:
                piece = piece[: len(piece) - (received - limit)]
            if received > held:
                held = self._budget.next_size(received, likely)
                waited_s = await self._hold(held + windows, deadline)
                begun, last = begun + waited_s, last + waited_s
            self._kept.add(piece)
            if received > limit:
                return True
            if decoder is None or decoder.problem is not None:
                continue
            for step in decoder.steps(piece):
                work += len(step) + STEP // BREATH
                if work > STEP:
                    work = 0
                    await asyncio.sleep(0)
                if not windows and decoder.size > held and decoder.window > held:
                    windows = decoder.window
                    waited_s = await self._hold(held + windows, deadline)
                    begun, last = begun + waited_s, last + waited_s
            if decoder.is_full:
                return True

    async def _hold(self, size: int, deadline: asyncio.Timeout) -> float:
        """Wait for memory; returns how long it took, which does not count as the server's time."""
        loop = asyncio.get_running_loop()
        before, until = loop.time(), deadline.when()
        deadline.reschedule(None)
        await self._budget.body(self._url.host.name, size)
        waited_s = loop.time() - before
        deadline.reschedule(until + waited_s if until is not None else None)
        self._waited_s += waited_s
        return waited_s

    def _expect(self, deadline: asyncio.Timeout, begun: float, received: int, last: float) -> bool:
        """Set the deadline to when the average rate will be too low if nothing more arrives. True if that is before the
        fetch's own deadline."""
        settings = self._settings
        slow_at = begun + max(settings.least_rate_after_s, received / settings.least_rate)
        if slow_at < last:
            deadline.reschedule(slow_at)
            return True
        if self._is_slow:
            deadline.reschedule(last)
        return False

    def _late(self) -> Failed:
        """A time limit was reached. Once the first byte has arrived, the page is to blame, not the host."""
        settings, size = self._settings, self._kept.size
        if self._is_slow:
            words = f"{size} bytes received, fewer than {settings.least_rate} a second (fetch.least_rate)"
            return self._cut(Reason.TOO_SLOW, words, Truncated.TIME)
        if self._connection is None or not self._connection.protocol.has_heard:
            return Failed(Reason.TIMEOUT, f"no response within {settings.timeout_s:g} s (fetch.timeout_s)")
        words = f"only {size} bytes received within {settings.timeout_s:g} s (fetch.timeout_s)"
        return self._cut(Reason.UNFINISHED, words, Truncated.TIME)

    def _cut(self, reason: Reason, words: str, truncated: Truncated) -> Failed:
        """The fetch was cut off: what was received of the body is kept, marked as truncated."""
        if self._message is None or not 200 <= self._message.code <= 599:
            return Failed(reason, words)
        return Failed(reason, words, self._capture(truncated))

    def _capture(self, truncated: Truncated | None) -> Capture:
        assert self._message is not None
        message = self._message
        return Capture(
            url=self._url,
            fetched_at=self._at,
            status=message.code,
            reason=message.reason.decode("latin-1"),
            headers=tuple(message.fields),
            body=self._kept.whole(),
            address=self._address,
            truncated=truncated,
            took_s=max(0.0, self._clock.elapsed_s() - self._begun_s - self._waited_s),
            distrust=self._distrust,
            head_s=max(0.0, self._head_s),
        )


def fields_of(received: list[tuple[str, str]]) -> CIMultiDictProxy[str]:
    """By name. Values are decoded as UTF-8, with surrogates for invalid bytes."""

    def utf8(value: str) -> str:
        return value if value.isascii() else value.encode("latin-1").decode("utf-8", "surrogateescape")

    return CIMultiDictProxy(CIMultiDict([(name, utf8(value)) for name, value in received]))


ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"
CODINGS = "gzip, deflate, br, zstd"
_SENDABLE = re.compile(r"[!-~]+")
NO_VALIDATORS = Validators()


class Client:
    """`async with Client(...)`, then `fetch`. Errors of the web are values; redirects are not followed."""

    def __init__(
        self,
        connections: Connections,
        judge_type: JudgeType = lambda _url, _type, _depth: None,
        protocols: Protocols | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`judge_type` is called with the headers of a page whose type is collected in general. `protocols`: those of
        other schemes than http and https. `budget`: bodies are charged to it; the caller releases a host's share once
        its response is no longer in memory. None: fetches do not wait for memory."""
        self._connections, self._judge_type, self._protocols = connections, judge_type, protocols or {}
        at_once = connections.settings.at_once
        self._room = asyncio.Semaphore(CROWD * at_once)
        self._budget = budget if budget is not None else Budget(at_once=at_once)
        self._owns_budget = budget is None
        self._fields = _fields(connections.settings)

    async def __aenter__(self) -> Self:
        self._connections.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connections.close()
        await asyncio.sleep(0)  # the transports close on the loop's next turn

    async def fetch(
        self,
        url: Url,
        kind: VisitKind = VisitKind.PAGE,
        depth: int = 0,
        validators: Validators = NO_VALIDATORS,
        before_sending: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """GET `url`, which is `depth` links from its seed: some rules for types depend on it. A robots.txt may have any
        media type, and only its first half mebibyte is read. With `validators` the server may answer that nothing has
        changed. `before_sending` is called before a connection is opened and before the request is sent on it; an
        exception that it raises ends the fetch."""
        if not _SENDABLE.fullmatch(url.text):
            return Refused(Reason.ADDRESS, "not a canonical URL")
        try:
            async with self._room:
                return await self._fetched(url, kind, depth, validators, before_sending)
        finally:
            if self._owns_budget:
                self._budget.release(url.host.name)

    async def _fetched(
        self, url: Url, kind: VisitKind, depth: int, validators: Validators, before_sending: Callable[[], None]
    ) -> Outcome:
        if (protocol := self._protocols.get(url.scheme)) is not None:
            # Its size is known only at the end.
            await self._budget.body(url.host.name, limit_of(kind, 200, "", self._connections.settings))
            before_sending()
            return await OtherExchange(url, kind, protocol, self._connections).run(self._judge_type, depth)
        exchange = Exchange(url, kind, depth, self._connections, self._budget, self._judge_type)
        return await exchange.run(self._fields + conditions(validators), validators.etag, before_sending)

    async def address_of(self, hostname: str) -> str | None:
        """The IP address that a fetch from this host would dial first, by the same cache and guard. None: the name does
        not resolve, or must not be dialled. Errors of name servers are not raised."""
        return await self._connections.address_of(hostname)


def user_agent(settings: Fetch) -> str:
    """The name, version and contact of the crawler."""
    name = f"{settings.agent}/{__version__}"
    return f"{name} (+{settings.contact})" if settings.contact else name


def _fields(settings: Fetch) -> bytes:
    """The header fields that all requests share. REQUIRES: agent and contact are one line of ASCII."""
    lines = (f"User-Agent: {user_agent(settings)}", f"Accept: {ACCEPT}", f"Accept-Encoding: {CODINGS}")
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise ConfigError("agent and contact must be printable ASCII: they are sent in a header field")
    return "\r\n".join((*lines, "")).encode("ascii")


def conditions(validators: Validators) -> bytes:
    """The rest of a request. Both are sent: a server that knows entity tags ignores the date (RFC 9110, 13.1.3).
    REQUIRES: they come from `answer.validators_of`."""
    etag = f"If-None-Match: {validators.etag}\r\n" if validators.etag else ""
    date = f"If-Modified-Since: {validators.last_modified}\r\n" if validators.last_modified else ""
    return f"{etag}{date}\r\n".encode("ascii", "replace")
