"""An answer's bytes on their way to the parser, counted and bounded."""

import asyncio
import select

from aiohttp.client_proto import ResponseHandler
from aiohttp.helpers import _EXC_SENTINEL
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong, TransferEncodingError

BEGINS = b"HTTP/1."
SLICE = 32 * 1024
FRAMING = 64 * 1024


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
        self._start: bytes | None = None
        self._waiting: select.poll | None = None

    def expect(self, head_limit: int) -> None:
        """A question goes out: count anew."""
        self._wire, self._head_limit, self._has_head, self._start = 0, head_limit, False, b""
        self._payload = None  # the last answer's

    @property
    def has_heard(self) -> bool:
        """Whether a single byte has come since the question."""
        return self._wire > 0

    def is_usable(self) -> bool:
        """Whether another question may be asked: the last answer has ended, and nothing was read after it."""
        return self.is_connected() and not self.should_close

    def is_quiet(self) -> bool:
        """Usable, and nothing waits in the system that the loop has not read yet.

        It would be the end of the connection, or an answer nobody asked for that were taken for the next one.
        """
        if self.transport is None or not self.is_usable():
            return False
        if self._waiting is None:
            self._waiting = select.poll()
            self._waiting.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self._waiting.poll(0)

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
        self._wire += len(data)
        if self._start is not None and not self._begins_well(data):
            self._give_up(HttpProcessingError(message="not HTTP/1"))
            return
        super().data_received(data)
        if self._payload is None or not self._has_head:
            if self._payload is not None:
                self._has_head = True
            elif self._wire > self._head_limit:
                self._give_up(LineTooLong(b"header fields"))
        elif self._wire > self._head_limit + FRAMING + 4 * self._payload.total_bytes:
            self._give_up(TransferEncodingError("more framing than content"))

    def _begins_well(self, data: bytes) -> bool:
        """The parser takes RTSP and other kinds, and HTTP/0.9 with a status, for HTTP; we do not (FAULTS H10)."""
        assert self._start is not None
        start = (self._start + data[: len(BEGINS) + 2]).lstrip(b"\r\n")
        self._start = start if len(start) < len(BEGINS) else None
        return start.startswith(BEGINS) or BEGINS.startswith(start)

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
