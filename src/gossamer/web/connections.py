"""Connections that cannot be held for nothing: a request must come soon and whole, and the idle make room (FAULTS W16).

uvicorn limits how long a connection rests between two requests, not how long the first or any request's head may take
to arrive, and counts idle connections against the busy ones.
"""

import asyncio

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.web.headers import HEADERS

LONGEST_HEAD = 1 << 20
"""Of a request. Addresses too long for us are far shorter than this, and get a page that says so."""
HEAD_S = 10.0
"""From a connection's start, or a request's first byte, to the end of its head."""
MOST_CONNECTIONS = 400
"""Below the number of files a process may usually have open (1,024), with room for everybody else."""
REASONS = {400: b"Bad Request", 408: b"Request Timeout"}


class Connection(H11Protocol):
    _head_timer: asyncio.TimerHandle | None = None
    _waits_since_s: float | None = None
    """Since when no request is being answered; None while one is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_timer()
            self._waits_since_s = None
        elif self._head_timer is None and not self.transport.is_closing():
            self._wait_for_head()

    def on_response_complete(self) -> None:
        self._waits_since_s = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._stop_timer()
        self._waits_since_s = self.loop.time()
        self._head_timer = self.loop.call_later(HEAD_S, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing() and not self._is_answering():
            self._refuse(408, "The request did not come in time.")

    def _make_room(self) -> None:
        """The one that has waited longest goes; the newcomer, when everybody is busy."""
        waiting = [one for one in self.connections if isinstance(one, Connection) and one._waits_since_s is not None]
        waiting = [one for one in waiting if not one.transport.is_closing()]
        min(waiting, key=lambda one: one._waits_since_s or 0.0, default=self).transport.close()

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


def server_of(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
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
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
        )
    )
