"""The response streams of llhttp's own tests, at once and byte by byte: every one ends in an outcome, in time."""

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest

from gossamer.clock import SystemClock
from gossamer.fetch.client import Client
from gossamer.fetch.plan import AddressPlan
from gossamer.fetch.settings import Fetch
from gossamer.values.outcome import Failed, Outcome, Refused
from gossamer.values.tell import silent
from gossamer.values.url import url_of

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
STREAMS = HOME / "http" / "llhttp_responses.json"
SETTINGS = Fetch(contact="https://example.org/bot", timeout_s=0.5, least_rate_after_s=0.3)
FORGIVEN = {
    "Missing expected CR after response line",  # a bare LF may be taken for a line's end (RFC 9112, 2.2)
    "Invalid character in chunk size",  # blanks after the size: aiohttp lets them pass
}

pytestmark = pytest.mark.skipif(not STREAMS.is_file(), reason="the streams are not here; set GOSSAMER_CONFORMANCE")


async def visit_all(streams: list[bytes], size: int, closes: bool) -> list[Outcome]:
    async def serve(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        try:
            question = await read.readuntil(b"\r\n\r\n")
            stream = streams[int(question.split(b" ", 2)[1][1:])]
            for start in range(0, len(stream), size):
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
        async with Client(SETTINGS, plan, plan, SystemClock(), silent) as client:
            visits = [client.fetch(url_of(f"http://h{number}.test/{number}")) for number in range(len(streams))]
            return await asyncio.wait_for(asyncio.gather(*visits), 20)


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("size", [1 << 20, 1])
def test_every_stream_ends_in_an_outcome_and_errors_are_never_pages(size, closes):
    rows = json.loads(STREAMS.read_text())
    outcomes = asyncio.run(visit_all([base64.b64decode(row["raw_base64"]) for row in rows], size, closes))
    for row, outcome in zip(rows, outcomes, strict=True):
        error = row["llhttp_error"]
        if error and row["type"] == "response" and not row["message_complete"] and error["reason"] not in FORGIVEN:
            assert isinstance(outcome, Failed | Refused), (row["title"], outcome)
