"""HTTP/1.1 responses: a connection that feeds their bytes to the parser, counted and limited."""

import asyncio
import select
from collections import deque
from typing import NamedTuple, cast

import httptools

from gossamer.values.outcome import Reason

BEGINS = b"HTTP/1."
SLICE = 32 * 1024
FRAMING = 64 * 1024
MOST_UNREAD = 128 * 1024
MOST_PIECES = 4096
"""Bytes and pieces of a body that may wait for their reader before reading is paused."""
INVALID = "the response is not valid HTTP"
LINE_TOO_LONG = "a header line is too long"
CHUNKS = "the chunks of the body are malformed, or end too early"
UNANSWERED = "the server closed the connection without a response"


class Broken(Exception):
    """The response will not arrive, or not as a whole. `words` are for people."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason, self.words = reason, words


class Surplus(Exception):
    """A second, unrequested response follows."""


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class BodyStream:
    """The body of a response as it arrives. For one reader."""

    __slots__ = ("_pieces", "_protocol", "_trouble", "_unread", "_waiter", "has_ended", "total")

    def __init__(self, protocol: "Protocol") -> None:
        self._protocol = protocol
        self._pieces: list[bytes] = []
        self._unread = self.total = 0
        self._trouble: Broken | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.has_ended = False

    @property
    def is_full(self) -> bool:
        return self._unread > MOST_UNREAD or len(self._pieces) > MOST_PIECES

    def feed(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._unread += len(piece)
        self.total += len(piece)
        _wake(self._waiter)

    def end(self, trouble: Broken | None = None) -> None:
        if not self.has_ended:
            self.has_ended, self._trouble = True, trouble
            _wake(self._waiter)

    def read_nowait(self) -> bytes:
        """The bytes received so far; empty: none yet, or no more."""
        if self._pieces:
            found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces, self._unread = [], 0
            self._protocol.resume_reading()
            return found
        if self._trouble is not None:
            raise self._trouble
        return b""

    def at_eof(self) -> bool:
        return self.has_ended and not self._pieces and self._trouble is None

    async def readany(self) -> bytes:
        while not self._pieces and not self.has_ended:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.read_nowait()


class Message(NamedTuple):
    code: int
    reason: bytes
    fields: list[tuple[str, str]]
    """As received, in Latin-1, which preserves every byte."""
    body: BodyStream


class Protocol(asyncio.Protocol):
    """A connection with its parser. There are limits on the bytes before the headers are complete, on those that frame
    the body (chunk sizes, extensions, trailers), and on how much is parsed in one turn of the event loop: one read may
    contain 40,000 chunks of one byte."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._messages: deque[Message] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._trouble: Broken | None = None
        self._body: BodyStream | None = None
        self._fields: list[tuple[str, str]] = []
        self._reason, self._backlog = b"", b""
        self._wire = self._head_limit = self._most_fields = self._count = self._code = 0
        self._start: bytes | None = None
        self._is_whole = self._is_spoilt = self._is_paused = False
        self._quiet: select.poll | None = None

    def expect(self, head_limit: int, most_fields: int) -> None:
        """A request is sent: start counting. REQUIRES: nothing is left of the last response."""
        self._wire, self._head_limit, self._most_fields = 0, head_limit, most_fields
        self._start, self._body, self._is_whole, self._code, self._fields = b"", None, False, 0, []
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    async def message(self) -> Message:
        while not self._messages:
            if self._trouble is not None:
                raise self._trouble
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._messages.popleft()

    @property
    def has_heard(self) -> bool:
        """Whether any byte has arrived since the request."""
        return self._wire > 0

    def is_connected(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def is_usable(self) -> bool:
        """Whether another request may be sent: the last response has ended, and nothing was read after it."""
        if not self.is_connected() or self._is_spoilt or self._messages:
            return False
        return self._parser is None or (self._is_whole and self._trouble is None and not self._backlog)

    def is_quiet(self) -> bool:
        """Usable, and the kernel has no unread bytes: these would be the end of the connection, or an unrequested
        response that would be taken for the next one."""
        if self.transport is None or not self.is_usable():
            return False
        if self._quiet is None:
            self._quiet = select.poll()
            self._quiet.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self._quiet.poll(0)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()
            self.transport = None
        self._parser = self._body = None  # they refer to this one

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._is_paused:  # these bytes were already on their way
            self._backlog += data
            return
        for start in range(0, len(data), SLICE):
            self._take(data[start : start + SLICE] if len(data) > SLICE else data)
            if self._body is not None and self._body.is_full and not self._body.has_ended:
                self._backlog = data[start + SLICE :]
                self._pause()
                return

    def connection_lost(self, exc: Exception | None) -> None:
        if self._body is not None:
            self._body.end(self._cut_short())
        self._fail(Broken(Reason.DISCONNECTED, _words_of(exc)))
        self.transport = self._parser = self._body = None

    def resume_reading(self) -> None:
        """Called after every piece, though reading is rarely paused."""
        if not self._is_paused:
            return
        self._is_paused = False
        if self._backlog:
            waiting, self._backlog = self._backlog, b""
            self.data_received(waiting)
        if not self._is_paused and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def _pause(self) -> None:
        self._is_paused = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def _take(self, data: bytes) -> None:
        self._wire += len(data)
        if self._parser is None or self._is_whole or self._trouble is not None:
            self._is_spoilt = True  # nothing was requested
            return
        if self._start is not None and not self._begins_well(data):
            self._give_up(Reason.PROTOCOL, INVALID)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_spoilt = True
        except httptools.HttpParserError as trouble:
            self._misread(trouble)
            return
        if self._body is None:
            if self._wire > self._head_limit:
                self._give_up(Reason.HEADERS_TOO_LARGE, LINE_TOO_LONG)
        elif self._wire > self._head_limit + FRAMING + 4 * self._body.total:
            self._give_up(Reason.PROTOCOL, CHUNKS)

    def _misread(self, trouble: httptools.HttpParserError) -> None:
        if self._code == 101 or isinstance(trouble.__context__, Surplus) or (self._is_whole and not self._messages):
            self._is_spoilt = True
        elif self._is_whole:  # more bytes than announced: it is unknown which part is meant
            self._messages.clear()
            self._give_up(Reason.PROTOCOL, INVALID)
        elif isinstance(trouble.__context__, Broken):
            self._give_up(trouble.__context__.reason, trouble.__context__.words)
        elif self._code == 0 and not self._fields:
            self._give_up(Reason.PROTOCOL, "the first line of the response is not an HTTP status line")
        else:
            self._give_up(Reason.PROTOCOL, INVALID)

    def _begins_well(self, data: bytes) -> bool:
        """The parser accepts RTSP and other protocols, and HTTP/0.9 with a status; we do not (FAULTS H10)."""
        assert self._start is not None
        start = (self._start + data[: len(BEGINS) + 2]).lstrip(b"\r\n")
        self._start = start if len(start) < len(BEGINS) else None
        return start.startswith(BEGINS) or BEGINS.startswith(start)

    def _cut_short(self) -> Broken | None:
        """Without a length or chunks, the end of the connection is the end of the body (RFC 9112, 6.3)."""
        names = {name.lower() for name, _ in self._fields}
        if "transfer-encoding" in names:
            return Broken(Reason.DISCONNECTED, CHUNKS)
        if "content-length" in names:
            return Broken(Reason.DISCONNECTED, "the body is shorter than its Content-Length")
        return None

    def _give_up(self, reason: Reason, words: str) -> None:
        self._fail(Broken(reason, words))
        if self.transport is not None:
            self.transport.abort()

    def _fail(self, trouble: Broken) -> None:
        if self._trouble is None:
            self._trouble = trouble
        if self._body is not None:
            self._body.end(trouble)
        _wake(self._waiter)

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._is_whole:
            self._is_spoilt = True
            return
        self._fields, self._reason, self._count = [], b"", 0

    def on_status(self, piece: bytes) -> None:
        self._reason += piece
        if len(self._reason) > self._head_limit:
            raise Broken(Reason.HEADERS_TOO_LARGE, LINE_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count += 1
        if self._count > self._most_fields:
            raise Broken(Reason.HEADERS_TOO_LARGE, INVALID)
        value = value.rstrip(b" \t")
        if b"\0" in value:
            raise Broken(Reason.PROTOCOL, "a header field is malformed")
        if self._body is None:  # else a trailer
            self._fields.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        if self._is_whole:
            raise Surplus
        self._code = code = self._parser.get_status_code()
        self._body = BodyStream(self)
        self._is_spoilt = self._is_spoilt or not self._parser.should_keep_alive()
        self._messages.append(Message(code, self._reason, self._fields, self._body))
        _wake(self._waiter)

    def on_body(self, piece: bytes) -> None:
        assert self._body is not None
        self._body.feed(piece)

    def on_message_complete(self) -> None:
        assert self._body is not None
        self._body.end()
        if self._code // 100 == 1 and self._code != 101:
            self._body = None  # an interim response: the real one follows
        else:
            self._is_whole = True


def _words_of(exc: Exception | None) -> str:
    if exc is None:
        return UNANSWERED
    if isinstance(exc, TimeoutError):
        return "the server stopped sending"
    return "the server closed the connection" if isinstance(exc, ConnectionError) else "the connection was lost"
