"""The response streams of llhttp's own tests, sent at once and byte by byte: each has an outcome, in time."""

import asyncio
import base64
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from tests.conformance.suites import HOME

from gossamer.base.clock import SystemClock
from gossamer.base.environment import AddressPlan, Network
from gossamer.base.tell import silent
from gossamer.config.slices import Fetch
from gossamer.fetch.client import Client
from gossamer.fetch.pool import Connections
from gossamer.values.outcome import Failed, Fetched, Outcome, Reason, Refused
from gossamer.values.url import url_of

STREAMS = HOME / "http" / "llhttp_responses.json"
SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=60.0, least_rate_after_s=60.0)
LATE_S = 5.0
"""Longer than a busy machine needs for streams that end."""
FORGIVEN = {
    "Missing expected CR after response line",  # a bare LF may be accepted as a line end (RFC 9112, 2.2)
    "Invalid character in chunk size",  # blanks after the size: browsers accept them
}

pytestmark = pytest.mark.skipif(not STREAMS.is_file(), reason="the streams are not here; set GOSSAMER_CONFORMANCE")


async def fetch_all(streams: list[bytes], size: int, closes: bool) -> list[Outcome]:
    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            request = await read.readuntil(b"\r\n\r\n")
            stream = streams[int(request.split(b" ", 2)[1][1:])]
            for start in range(0, len(stream), size):
                if write.transport.is_closing():
                    return
                write.write(stream[start : start + size])
                await asyncio.sleep(0)
            if not closes:
                await read.read()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            write.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        plan = AddressPlan({f"h{number}.test": {80: port} for number in range(len(streams))})
        settings = SETTINGS if closes else replace(SETTINGS, timeout_s=LATE_S, least_rate_after_s=LATE_S - 1)
        async with Client(Connections(settings, Network(plan, plan), SystemClock(), silent)) as client:
            fetches = [client.fetch(url_of(f"http://h{number}.test/{number}")) for number in range(len(streams))]
            return await asyncio.wait_for(asyncio.gather(*fetches), 300)


TRAILING_BYTES = {
    "HTTP/1.1 with keep-alive disabled and 204 status",
    "HTTP/1.1 with keep-alive disabled, content-length (lenient)",
    "HTTP/1.1 with keep-alive disabled, content-length",
    "HTTP/1.1 with keep-alive disabled and 204 status (lenient)",
    "Google 301",
}
"""More bytes than the response announced. If they arrive early enough to be seen, it is an error; otherwise they are
left unread on the connection."""
CLOSED = {"Fetched": 39, "protocol": 29, "disconnected": 5, "Gone": 2, "Moved": 1, "Unchanged": 2, "server-error": 1}
OPEN = {"Fetched": 26, "protocol": 28, "late": 20, "Gone": 1, "Moved": 1, "Unchanged": 2, "server-error": 1}
"""A response that ends with the connection is late when the connection stays open."""
LATE = (Reason.TIMEOUT, Reason.TOO_SLOW, Reason.UNFINISHED)


def named(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return "late" if outcome.reason in LATE else outcome.reason.value
    return type(outcome).__name__


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[bool, bool], list[Outcome]]:
    """By two flags: sent byte by byte, and closed at the end."""
    streams = [base64.b64decode(row["raw_base64"]) for row in rows()]
    return {
        (in_bytes, closes): asyncio.run(fetch_all(streams, 1 if in_bytes else 1 << 20, closes))
        for in_bytes in (False, True)
        for closes in (False, True)
    }


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(STREAMS.read_text())
    return found


EVERY_WAY = pytest.mark.parametrize(
    ("in_bytes", "closes"), [(True, True), (True, False), (False, True), (False, False)]
)


@EVERY_WAY
def test_every_stream_ends_in_an_outcome_and_errors_are_never_pages(outcomes, in_bytes, closes):
    assert len(outcomes[in_bytes, closes]) == 84
    errors = 0
    for row, outcome in zip(rows(), outcomes[in_bytes, closes], strict=True):
        error = row["llhttp_error"]
        if error and row["type"] == "response" and not row["message_complete"] and error["reason"] not in FORGIVEN:
            errors += 1
            assert isinstance(outcome, Failed | Refused), (row["title"], outcome)
    assert errors == 17


@EVERY_WAY
def test_the_outcomes_are_exactly_these(outcomes, in_bytes, closes):
    found: Counter[str] = Counter()
    for row, outcome in zip(rows(), outcomes[in_bytes, closes], strict=True):
        if row["title"] in TRAILING_BYTES:
            assert named(outcome) in ("Fetched", "Moved", "protocol")
        else:
            found[named(outcome)] += 1
    assert found == (CLOSED if closes else OPEN)


def test_the_size_of_the_pieces_makes_no_difference(outcomes):
    for closes in (True, False):
        for row, whole, cut in zip(rows(), outcomes[False, closes], outcomes[True, closes], strict=True):
            if row["title"] not in TRAILING_BYTES:
                assert named(whole) == named(cut), row["title"]
                if isinstance(whole, Fetched) and isinstance(cut, Fetched):
                    one, other = whole.capture, cut.capture
                    assert (one.status, one.headers, one.body) == (other.status, other.headers, other.body)


@EVERY_WAY
def test_a_complete_response_has_exactly_the_body_that_was_sent(outcomes, in_bytes, closes):
    compared = 0
    for row, outcome in zip(rows(), outcomes[in_bytes, closes], strict=True):
        if isinstance(outcome, Fetched) and row["message_complete"] and row["type"] == "response":
            first = row["log"].partition("message complete")[0].count("span[body]")
            if first <= 1:
                sent = row["body_spans"][: len(outcome.capture.body)]
                assert outcome.capture.body.decode() == sent, row["title"]
                assert len(sent) == len(row["body_spans"]) or row["log"].count("message begin") > 1, row["title"]
                compared += 1
    assert compared >= 20
