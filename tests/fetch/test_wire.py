"""Responses as they arrive: how they are parsed, how they end, and which errors are found in them."""

import asyncio

import pytest

from gossamer.fetch.wire import MOST_PIECES, MOST_UNREAD, Broken, Message, Protocol
from gossamer.values.outcome import Reason

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
INVALID = "the response is not valid HTTP"
NO_LENGTH = b"HTTP/1.1 200 OK\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
CLOSED = "the server closed the connection without a response"
CHUNKS = "the chunks of the body are malformed, or end too early"


class FakeTransport(asyncio.Transport):
    """Records what the protocol does with it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


def request_sent(head_limit: int = 1000, most_fields: int = 5) -> tuple[Protocol, FakeTransport]:
    protocol, transport = Protocol(asyncio.get_running_loop()), FakeTransport()
    protocol.connection_made(transport)
    protocol.expect(head_limit, most_fields)
    return protocol, transport


async def read_all(protocol: Protocol) -> tuple[Message, bytes]:
    message, found = await protocol.message(), b""
    while not message.body.at_eof():
        found += await message.body.readany()
    return message, found


def received(answer: bytes, end: Exception | bool | None = False) -> tuple[Message, bytes]:
    """The response to one request; `end` is how the connection is lost, False that it stays open."""

    async def ask() -> tuple[Message, bytes]:
        protocol, _ = request_sent()
        protocol.data_received(answer)
        if not isinstance(end, bool):
            protocol.connection_lost(end)
        return await asyncio.wait_for(read_all(protocol), 60)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("answer", "end", "reason", "words"),
    [
        (b"", None, Reason.DISCONNECTED, CLOSED),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", None, Reason.DISCONNECTED, CLOSED),
        (b"", ConnectionResetError(), Reason.DISCONNECTED, "the server closed the connection"),
        (b"", TimeoutError(), Reason.DISCONNECTED, "the server stopped sending"),
        (b"", OSError(), Reason.DISCONNECTED, "the connection was lost"),
        (OK[:-1], None, Reason.DISCONNECTED, "the body is shorter than its Content-Length"),
        (CHUNKED + b"2\r\nab\r\n", None, Reason.DISCONNECTED, CHUNKS),
        (CHUNKED + b"zz\r\n", False, Reason.PROTOCOL, INVALID),
        (CHUNKED + b"1;" + b"x" * 100_000, False, Reason.PROTOCOL, CHUNKS),
        (b"SSH-2.0-x\r\n", False, Reason.PROTOCOL, INVALID),
        (b"HTTP/1.1 abc\r\n", False, Reason.PROTOCOL, "the first line of the response is not an HTTP status line"),
        (b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", False, Reason.PROTOCOL, "a header field is malformed"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 6 + b"\r\n", False, Reason.HEADERS_TOO_LARGE, INVALID),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 1001, False, Reason.HEADERS_TOO_LARGE, "a header line is too long"),
        (b"HTTP/1.1 200 " + b"x" * 1001, False, Reason.HEADERS_TOO_LARGE, "a header line is too long"),
        (CHUNKED + b"0\r\n" + b"A: b\r\n" * 6 + b"\r\n", False, Reason.HEADERS_TOO_LARGE, INVALID),
        (OK + b"more", False, Reason.PROTOCOL, INVALID),
    ],
)
def test_an_invalid_response_fails_with_a_reason_and_a_description(
    answer: bytes, end: Exception | bool | None, reason: Reason, words: str
) -> None:
    with pytest.raises(Broken) as found:
        received(answer, end)
    assert (found.value.reason, found.value.words) == (reason, words)


@pytest.mark.parametrize(
    ("answer", "end", "body"),
    [
        (OK, False, b"ab"),
        (OK + OK.replace(b"ab", b"cd"), False, b"ab"),
        (NO_LENGTH + b"all of it", None, b"all of it"),
        (b"HTTP/1.0 200 OK\n\nall of it", None, b"all of it"),
        (CHUNKED + b"2 \r\nab\r\n1;x=y\r\nc\r\n0\r\nTrailer: x\r\n\r\n", False, b"abc"),
        (b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + OK, False, b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", False, b""),
    ],
)
def test_a_body_ends_at_its_length_or_with_the_connection(answer: bytes, end: bool | None, body: bytes) -> None:
    assert received(answer, end)[1] == body


def test_header_fields_keep_their_order_and_repetitions() -> None:
    head = b"HTTP/1.1 200 Fine \xe9\r\nB: 1 \r\na:\xc3\xa4\r\nB:\r\n folded\r\nContent-Length: 0\r\n\r\n"
    message, _ = received(head)
    assert (message.code, message.reason) == (200, b"Fine \xe9")
    assert message.fields == [("B", "1"), ("a", "\xc3\xa4"), ("B", "folded"), ("Content-Length", "0")]


def test_an_interim_response_comes_before_the_final_one() -> None:
    async def ask() -> list[int]:
        protocol, _ = request_sent()
        protocol.data_received(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)
        return [(await protocol.message()).code, (await protocol.message()).code]

    assert asyncio.run(ask()) == [100, 200]


@pytest.mark.parametrize(
    ("answer", "is_usable"),
    [
        (OK, True),
        (OK + OK, False),
        (OK[:-2], False),
        (OK.replace(b"1.1", b"1.0"), False),
        (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), False),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nother", False),
    ],
)
def test_a_connection_is_reusable_when_its_response_has_ended(answer: bytes, is_usable: bool) -> None:
    async def ask() -> tuple[bool, bool]:
        protocol, _ = request_sent()
        protocol.data_received(answer)
        message = await protocol.message()
        message.body.read_nowait()
        before = protocol.is_usable()
        protocol.data_received(b"x")
        return before, protocol.is_usable()

    assert asyncio.run(ask()) == (is_usable, False), "but not after unrequested bytes"


@pytest.mark.parametrize("piece", [1, 1000])
def test_a_body_that_is_not_read_is_held_back_and_arrives_in_full_later(piece: int) -> None:
    amount = 200_000 // piece * 2
    chunk = b"%x\r\n" % piece + b"x" * piece + b"\r\n"

    async def ask() -> None:
        protocol, transport = request_sent(head_limit=10_000_000)
        protocol.data_received(CHUNKED + chunk * (amount - 1))
        assert transport.is_paused
        protocol.data_received(chunk + b"0\r\n\r\n")
        message = await protocol.message()
        first = message.body.read_nowait()
        assert len(first) <= MOST_UNREAD + 33_000 and len(first) / piece <= MOST_PIECES + 33_000 / len(chunk)
        rest = b""
        while not message.body.at_eof():
            rest += await message.body.readany()
        assert first + rest == b"x" * piece * amount
        assert not transport.is_paused and protocol.is_usable()

    asyncio.run(ask())


def test_waiting_readers_fail_when_the_connection_ends() -> None:
    async def ask() -> None:
        protocol, _ = request_sent()
        waiting = asyncio.ensure_future(protocol.message())
        await asyncio.sleep(0)
        protocol.data_received(OK[:-1])
        reading = (await waiting).body
        assert await reading.readany() == b"a"
        more = asyncio.ensure_future(reading.readany())
        await asyncio.sleep(0)
        protocol.connection_lost(None)
        with pytest.raises(Broken):
            await more
        with pytest.raises(Broken):
            await protocol.message()
        assert not protocol.is_usable()

    asyncio.run(ask())
