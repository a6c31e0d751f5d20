"""A Tika server: asked for the text of documents that no reader of ours can read.

It is a service like those of the views: its address is a setting, and only bytes go to it that were fetched anyway. Its
answer is a page in HTML, which the readers read within their limits like any other.
"""

import asyncio
from collections.abc import Callable

from gossamer.base.clock import Clock
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.parse.coding import CodingProblem, decode
from gossamer.store.service import Service, ServiceLost, ServiceRefused
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadDone

NAME = "fetch.tika"
AT_ONCE = 4
"""Requests at one time: Tika reads a document for seconds."""
TIMEOUT_S = 120.0
LARGEST_DOCUMENT = 64 * 1024 * 1024
LARGEST_ANSWER = 16 * 1024 * 1024
NOT_TEXT = "not-text"
"""The flag of a capture that no reader of ours could read."""
HOPELESS = frozenset(("document-encrypted", *(set(CodingProblem) - {CodingProblem.CUT})))
"""Flags of captures that nothing can read."""


class TikaServer:
    """REQUIRES: it is used in one event loop."""

    def __init__(self, address: str, clock: Clock, tell: Tell) -> None:
        """Raises ConfigError for an address that is no http(s) URL."""
        self._service = Service(NAME, address, clock, tell)
        self._turns = asyncio.Semaphore(AT_ONCE)

    def close(self) -> None:
        self._service.close()

    async def convert(self, capture: Capture, done: ReadDone, is_stopping: Callable[[], bool] | None = None) -> bytes:
        """The text of a capture as HTML; empty if it has one already, or if Tika has none either.

        While the server is away: empty as well, or with `is_stopping` it is asked again until that says stop."""
        if not can_be_converted(capture, done):
            return b""
        async with self._turns:
            try:
                return await asyncio.to_thread(self._ask, capture, is_stopping)
            except (ServiceLost, ServiceRefused):
                return b""

    def _ask(self, capture: Capture, is_stopping: Callable[[], bool] | None) -> bytes:
        body = decode(capture.body, capture.joined("content-encoding"), LARGEST_DOCUMENT).body
        if not body:
            return b""
        label = (capture.header("content-type") or "").partition(";")[0].strip()
        kind = label if "/" in label and label.isascii() and label.isprintable() else "application/octet-stream"

        def ask() -> bytes:
            headers = {"Accept": "text/html", "Content-Type": kind}
            answer = self._service.ask(
                "PUT", "/tika", body, headers=headers, timeout_s=TIMEOUT_S, most_bytes=LARGEST_ANSWER
            )
            return answer.body

        return ask() if is_stopping is None else self._service.until_done(ask, is_stopping)


def can_be_converted(capture: Capture, done: ReadDone) -> bool:
    """Whether it is a page of which we have no text, and another reader may find some."""
    if not 200 <= capture.status < 300 or not capture.body or done.is_page or done.robots is not None:
        return False
    return NOT_TEXT in done.flags and HOPELESS.isdisjoint(done.flags)


def tika_of(settings: Settings, clock: Clock, tell: Tell) -> TikaServer | None:
    """The server of the settings; None if they have none."""
    return TikaServer(settings.fetch.tika, clock, tell) if settings.fetch.tika else None
