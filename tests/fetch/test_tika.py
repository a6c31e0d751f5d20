"""Which captures a Tika server is asked about, and what happens when it refuses or is away."""

import asyncio

import pytest
from tests.cli.answers import Says, Web

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.fetch.tika import TikaServer, can_be_converted
from gossamer.values.capture import Capture
from gossamer.values.messages import ReadDone
from gossamer.values.url import Url


def capture(status: int = 200, body: bytes = b"bytes") -> Capture:
    headers = (("Content-Type", "application/x-odd; charset=x"),)
    return Capture(Url("http://a.test/x"), 1_700_000_000 * SECOND, status, "OK", headers, body, "20.0.0.1")


def done(*flags: str, is_page: bool = False) -> ReadDone:
    return ReadDone(b"record", b"", "application/x-odd", b"digest", is_page=is_page, flags=flags)


@pytest.mark.parametrize(
    ("taken", "read", "is_asked"),
    [
        (capture(), done("not-text"), True),
        (capture(), done("document-needs-extra", "not-text"), True),
        (capture(), done("document-empty", "not-text"), True),
        (capture(), done("document-damaged", "not-text"), True),
        (capture(), done("coding-ends-early", "not-text"), True),
        (capture(), done("document-encrypted", "not-text"), False),
        (capture(), done("broken-coding", "not-text"), False),
        (capture(), done(is_page=True), False),
        (capture(), done(), False),
        (capture(status=404), done("not-text"), False),
        (capture(body=b""), done("not-text"), False),
    ],
)
def test_only_pages_without_text_are_sent(taken: Capture, read: ReadDone, is_asked: bool) -> None:
    assert can_be_converted(taken, read) is is_asked


async def converted(address: str) -> bytes:
    server = TikaServer(address, SystemClock(), silent)
    try:
        return await server.convert(capture(), done("not-text"))
    finally:
        server.close()


def test_a_server_that_refuses_or_is_away_leaves_the_capture_without_text() -> None:
    with Web(lambda path: Says("no", status=422)).serving() as web:
        assert asyncio.run(converted(web.root)) == b""
    assert asyncio.run(converted(web.root)) == b"", "it has ended"


def test_an_address_that_is_no_url_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"fetch\.tika is not the URL of a service"):
        TikaServer("file:///etc/passwd", SystemClock(), silent)
