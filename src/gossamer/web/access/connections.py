"""Time and memory limits for connections.

Slow clients are cut off, and idle ones make room (FAULTS W16, X10).

uvicorn limits the time between two requests of a connection, but not the time that a request's head may take, and it
counts idle connections against the busy ones. It waits forever for a client to read its response. Here a client that
reads slower than LEAST_RATE is cut off, and the bytes that all clients together have not read are limited.
"""

import asyncio
import contextlib
import socket
import struct
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.base.tuning import allow_open_files
from gossamer.web.access.guard import HEADERS

LONGEST_HEAD = 1 << 20
"""Bytes of a request's head. A URL that is too long for us is far shorter, and gets an error page."""
HEAD_S = 10.0
"""From the start of a connection, or the first byte of a request, to the end of the request's head."""
REST_S = 5
"""Between two requests of one connection."""
STOP_S = 2
"""How long a stop waits for responses in progress."""
MOST_CONNECTIONS = 4_000
"""At one time; about 7 kB each while idle."""
MOST_FILES = 16_384
"""Requested from the system: each connection is an open file, and so is much else."""
BACKLOG = 400
"""Connections that may wait to be accepted; they are all accepted before any other can be closed."""
FILES_KEPT = BACKLOG + 200
"""Open files reserved for databases, the index and workers, not for idle connections."""
LEAST_RATE = 4_096
"""Bytes a second that a client must read, on average over RATE_S, while there is something to read."""
RATE_S = 15.0
MOST_UNREAD = 16 << 10
"""Bytes that may wait for one client before its response is paused."""
MOST_UNREAD_IN_ALL = 64 << 20
"""Beyond this the client that has paused its response longest is cut off."""
REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class Serving(uvicorn.Config):
    """The settings of one server, and its connections that wait for a request, longest waiting first."""

    def __init__(self, app: ASGIApp, most_connections: int, **more: Any) -> None:
        super().__init__(app, **more)
        self.most_connections = most_connections
        self.waiting: dict[WebConnection, None] = {}
        self.slow: dict[WebConnection, None] = {}
        """Connections whose client has not read what was sent, longest first."""


class Metered:
    """A transport that counts the bytes to send."""

    def __init__(self, inner: asyncio.Transport) -> None:
        self._inner, self._written = inner, 0

    def write(self, data: bytes) -> None:
        self._written += len(data)
        self._inner.write(data)

    def sent(self) -> int:
        """How many bytes the system has taken over."""
        return self._written - self._inner.get_write_buffer_size()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class WebConnection(H11Protocol):
    config: Serving
    _head_timer: asyncio.TimerHandle | None = None
    _rate_timer: asyncio.TimerHandle | None = None
    _meter: Metered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(MOST_UNREAD)
        self._meter = Metered(transport)
        super().connection_made(cast(asyncio.Transport, self._meter))
        self._check_rate_later(None)
        if len(self.connections) > self.config.most_connections:
            self._make_room()
        if not transport.is_closing():
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._rate_timer is not None:
            self._rate_timer.cancel()
        self.config.waiting.pop(self, None)
        self.config.slow.pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.config.slow[self] = None
        if sum([one.transport.get_write_buffer_size() for one in self.config.slow]) > MOST_UNREAD_IN_ALL:
            next(iter(self.config.slow)).cut_off()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.config.slow.pop(self, None)

    def _check_rate_later(self, sent: int | None) -> None:
        """`sent`: the bytes sent so far if more are waiting, else None."""
        self._rate_timer = self.loop.call_later(RATE_S, self._check_rate, sent, self.loop.time())

    def _check_rate(self, before: int | None, since_s: float) -> None:
        """A client is too slow if bytes waited at both checks and too few were sent in between."""
        sent = self._meter.sent() if self.transport.get_write_buffer_size() else None
        if before is not None and sent is not None and sent - before < LEAST_RATE * (self.loop.time() - since_s):
            self.cut_off()
        else:
            self._check_rate_later(sent)

    def cut_off(self) -> None:
        """Closes with a reset. Otherwise the system would keep unread bytes for as long as the client acknowledges
        (SO_LINGER, socket(7))."""
        fd = self.transport.get_extra_info("socket").fileno()
        with contextlib.suppress(OSError), socket.fromfd(fd, socket.AF_INET, socket.SOCK_STREAM) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_timer()
            self.config.waiting.pop(self, None)
        elif self._head_timer is None and not self.transport.is_closing():
            self._wait_for_head()

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()
        if self._is_answering():  # the next request had already arrived
            self.config.waiting.pop(self, None)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._stop_timer()
        self._wait()
        self._head_timer = self.loop.call_later(HEAD_S, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing() and not self._is_answering():
            self._refuse(408, "The request timed out.")

    def _wait(self) -> None:
        self.config.waiting.pop(self, None)
        self.config.waiting[self] = None  # last in line

    def _make_room(self) -> None:
        """Closes the connection that has waited longest; the new one if all others are busy."""
        oldest = next(iter(self.config.waiting), self)
        self.config.waiting.pop(oldest, None)
        if oldest.transport.get_write_buffer_size():
            oldest.cut_off()  # closing would wait until everything is read
        else:
            oldest.transport.close()

    def _refuse(self, status: int, words: str) -> None:
        """The response to an invalid request, with the headers of every other response."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        headers = [*HEADERS.items(), ("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")]
        answer = h11.Response(status_code=status, headers=headers, reason=REASONS[status])
        for event in (answer, h11.Data(data=words.encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def connections_allowed() -> int:
    """How many connections fit, once the limit on open files has been raised as far as possible."""
    files = allow_open_files(MOST_FILES)
    return max(16, min(MOST_CONNECTIONS, files - FILES_KEPT, files // 2))


def server_of(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    return uvicorn.Server(
        Serving(
            app,
            connections_allowed(),
            host=host,
            port=port,
            http=WebConnection,  # h11: stricter than the others, and keeps absolute-form targets apart
            h11_max_incomplete_event_size=LONGEST_HEAD,
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,  # it would contain tokens
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=REST_S,
            timeout_graceful_shutdown=STOP_S,
        )
    )
