"""Connections that cannot be held for nothing: a request must come soon and whole, and the idle make room (FAULTS W16).

uvicorn limits how long a connection rests between two requests, not how long the first or any request's head may take
to arrive, and counts idle connections against the busy ones.
"""

import asyncio
import resource
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.web.headers import HEADERS

LONGEST_HEAD = 1 << 20
"""Of a request. Addresses too long for us are far shorter than this, and get a page that says so."""
HEAD_S = 10.0
"""From a connection's start, or a request's first byte, to the end of its head."""
MOST_CONNECTIONS = 4_000
"""At one time; some 7 kB each while they are idle."""
MOST_FILES = 16_384
"""What we ask the system for: each connection is an open file, and so is much else."""
BACKLOG = 400
"""Connections that may wait to be taken, and are taken in one go before any other can be closed."""
FILES_KEPT = BACKLOG + 200
"""Of the files we may have open, those that are not for idle connections: databases, index, workers."""
REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class Serving(uvicorn.Config):
    """How one server serves, and which of its connections wait for a request, those that began to wait first first."""

    def __init__(self, app: ASGIApp, most_connections: int, **more: Any) -> None:
        super().__init__(app, **more)
        self.most_connections = most_connections
        self.waiting: dict[Connection, None] = {}


class Connection(H11Protocol):
    config: Serving
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.config.most_connections:
            self._make_room()
        if not transport.is_closing():
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.config.waiting.pop(self, None)
        super().connection_lost(exc)

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
            self._refuse(408, "The request did not come in time.")

    def _wait(self) -> None:
        self.config.waiting.pop(self, None)
        self.config.waiting[self] = None  # last in line

    def _make_room(self) -> None:
        """The one that has waited longest goes; the newcomer, when everybody is busy."""
        oldest = next(iter(self.config.waiting), self)
        self.config.waiting.pop(oldest, None)
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
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = MOST_FILES if soft == resource.RLIM_INFINITY else soft
    return max(16, min(MOST_CONNECTIONS, files - FILES_KEPT, files // 2))


def server_of(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    return uvicorn.Server(
        Serving(
            app,
            connections_allowed(),
            host=host,
            port=port,
            http=Connection,  # h11: stricter than the others, and it tells an absolute-form target from a path
            h11_max_incomplete_event_size=LONGEST_HEAD,
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,  # it would hold tokens
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
        )
    )
