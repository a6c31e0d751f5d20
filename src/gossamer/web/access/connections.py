"""Connections that cannot be held for nothing: a request must come soon and whole, and the idle make room (FAULTS W16).

uvicorn limits how long a connection rests between two requests, not how long the first or any request's head may take
to arrive, and counts idle connections against the busy ones. It hands the system whatever is to be sent, and waits for
ever until the other side has read it: a reader slower than LEAST_RATE is cut off here, and what all of them together
have not read yet is bounded (FAULTS X10).
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
"""Of a request. Addresses too long for us are far shorter than this, and get a page that says so."""
HEAD_S = 10.0
"""From a connection's start, or a request's first byte, to the end of its head."""
REST_S = 5
"""Between two requests of one connection."""
STOP_S = 2
"""That a stop waits for answers under way."""
MOST_CONNECTIONS = 4_000
"""At one time; some 7 kB each while they are idle."""
MOST_FILES = 16_384
"""What we ask the system for: each connection is an open file, and so is much else."""
BACKLOG = 400
"""Connections that may wait to be taken, and are taken in one go before any other can be closed."""
FILES_KEPT = BACKLOG + 200
"""Of the files we may have open, those that are not for idle connections: databases, index, workers."""
LEAST_RATE = 4_096
"""Bytes a second that a reader must take, on average over RATE_S, while there is something to take."""
RATE_S = 15.0
MOST_UNREAD = 16 << 10
"""Bytes that may wait for one reader before the answer has to wait too."""
MOST_UNREAD_IN_ALL = 64 << 20
"""Then the reader that has kept an answer waiting longest is cut off."""
REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class Serving(uvicorn.Config):
    """How one server serves, and which of its connections wait for a request, those that began to wait first first."""

    def __init__(self, app: ASGIApp, most_connections: int, **more: Any) -> None:
        super().__init__(app, **more)
        self.most_connections = most_connections
        self.waiting: dict[WebConnection, None] = {}
        self.slow: dict[WebConnection, None] = {}
        """Those that have not read what was sent, longest first."""


class Metered:
    """A transport that counts what it was given to send."""

    def __init__(self, inner: asyncio.Transport) -> None:
        self._inner, self._given = inner, 0

    def write(self, data: bytes) -> None:
        self._given += len(data)
        self._inner.write(data)

    def taken(self) -> int:
        """How much of it the system has taken over."""
        return self._given - self._inner.get_write_buffer_size()

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
        self._look_later(None)
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

    def _look_later(self, taken: int | None) -> None:
        """`taken`: as much as had been taken by now, when more waited to be; None when nothing did."""
        self._rate_timer = self.loop.call_later(RATE_S, self._look, taken, self.loop.time())

    def _look(self, before: int | None, since_s: float) -> None:
        """Whoever left something unread then and now, and took too little between, is too slow."""
        taken = self._meter.taken() if self.transport.get_write_buffer_size() else None
        if before is not None and taken is not None and taken - before < LEAST_RATE * (self.loop.time() - since_s):
            self.cut_off()
        else:
            self._look_later(taken)

    def cut_off(self) -> None:
        """At once, with a reset: the system would keep what is unread for as long as the other side says it is there
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
        if self._is_answering():  # the next request was there already
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
        """The one that has waited longest goes; the newcomer, when everybody is busy."""
        oldest = next(iter(self.config.waiting), self)
        self.config.waiting.pop(oldest, None)
        if oldest.transport.get_write_buffer_size():
            oldest.cut_off()  # to close it would wait until everything is read
        else:
            oldest.transport.close()

    def _refuse(self, status: int, words: str) -> None:
        """What never became a request gets the headers of every other answer."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        headers = [*HEADERS.items(), ("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")]
        answer = h11.Response(status_code=status, headers=headers, reason=REASONS[status])
        for event in (answer, h11.Data(data=words.encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def connections_allowed() -> int:
    """How many we may hold, once the system has been asked for as many open files as it lets us have."""
    files = allow_open_files(MOST_FILES)
    return max(16, min(MOST_CONNECTIONS, files - FILES_KEPT, files // 2))


def server_of(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    return uvicorn.Server(
        Serving(
            app,
            connections_allowed(),
            host=host,
            port=port,
            http=WebConnection,  # h11: stricter than the others, and it tells an absolute-form target from a path
            h11_max_incomplete_event_size=LONGEST_HEAD,
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,  # it would hold tokens
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=REST_S,
            timeout_graceful_shutdown=STOP_S,
        )
    )
