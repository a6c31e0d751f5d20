"""A web server that misbehaves on request: `/H2-endless-chunks` gets an endless chunked body, and so on.

One small function for each behaviour, registered under its id in the catalogue of faults. Everything is written to the
raw socket, so that nothing is too wrong to be sent. By hand: `python -m tests.hostile --list`.
"""

import asyncio
import contextlib
import functools
import gzip
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import brotli
from backports import zstd

Write = asyncio.StreamWriter
Behaviour = Callable[[Write], Awaitable[None]]
BEHAVIOURS: dict[str, Behaviour] = {}

MIB = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def behaviour(name: str) -> Callable[[Behaviour], Behaviour]:
    def register(function: Behaviour) -> Behaviour:
        BEHAVIOURS[name] = function
        return function

    return register


def sends(name: str, *pieces: bytes, says: str) -> None:
    """A behaviour that writes these bytes, one write each, and closes."""

    async def write_all(write: Write) -> None:
        for piece in pieces:
            write.write(piece)
            await write.drain()

    write_all.__doc__ = says
    BEHAVIOURS[name] = write_all


def _whole(body: bytes, fields: bytes = b"") -> bytes:
    return OK + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


# H1: slow


@behaviour("H1-slow-headers")
async def slow_headers(write: Write) -> None:
    """One byte of a header field at a time, for ever."""
    write.write(OK)
    while True:
        write.write(b"x")
        await write.drain()
        await asyncio.sleep(0.02)


@behaviour("H1-slow-body")
async def slow_body(write: Write) -> None:
    """One byte of the body at a time, for ever."""
    write.write(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        write.write(b"x")
        await write.drain()
        await asyncio.sleep(0.02)


@behaviour("H1-stalled-body")
async def stalled_body(write: Write) -> None:
    """Half of the body, then nothing."""
    write.write(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)
    await write.drain()
    await asyncio.sleep(3600)


@behaviour("H1-silence")
async def silence(write: Write) -> None:
    """The question is taken and never answered."""
    await asyncio.sleep(3600)


# H2: endless


@behaviour("H2-endless-chunks")
async def endless_chunks(write: Write) -> None:
    """A chunked body without an end."""
    write.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        write.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        await write.drain()


@behaviour("H2-endless-plain")
async def endless_plain(write: Write) -> None:
    """A body without length or end."""
    write.write(OK + b"\r\n")
    while True:
        write.write(b"x" * 65536)
        await write.drain()


# H3, H4: lengths that lie

sends("H3-early-close", OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 400, says="400 of 1000 bytes, then the end")
sends("H3-early-close-chunked", OK + b"Transfer-Encoding: chunked\r\n\r\n400\r\nxyz", says="a chunk cut off")
sends("H4-length-too-small", OK + b"Content-Length: 5\r\n\r\n" + b"x" * 50, says="more bytes than promised")
sends(
    "H4-length-and-chunked",
    OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    says="Content-Length beside Transfer-Encoding",
)
sends("H4-two-lengths", OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", says="two lengths")
sends("H4-same-lengths", OK + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", says="the same length twice")
sends("H4-negative", OK + b"Content-Length: -1\r\n\r\nabc", says="a length of -1")
sends("H4-underscore", OK + b"Content-Length: 1_0\r\n\r\n0123456789", says="a length of 1_0")
sends("H4-plus", OK + b"Content-Length: +3\r\n\r\nabc", says="a length of +3")
sends("H4-not-ascii", OK + b"Content-Length: \xd9\xa3\r\n\r\nabc", says="a length in Arabic digits")
sends("H4-list", OK + b"Content-Length: 3, 3\r\n\r\nabc", says="a list of lengths")

# H5: chunks

_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
sends("H5-huge-size", _CHUNKED + b"10000000000000000\r\nabc\r\n0\r\n\r\n", says="a chunk of 2^64 bytes")
sends("H5-bad-hex", _CHUNKED + b"xyz\r\nabc\r\n0\r\n\r\n", says="a chunk size that is no number")
sends("H5-no-terminator", _CHUNKED + b"3\r\nabc\r\n", says="no last chunk")
sends("H5-bad-end", _CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n", says="a chunk longer than its size")


@behaviour("H5-bad-hex-later")
async def bad_hex_later(write: Write) -> None:
    """A good chunk, and a moment later a size that is no number."""
    write.write(_CHUNKED + b"3\r\nabc\r\n")
    await write.drain()
    await asyncio.sleep(0.05)
    write.write(b"xyz\r\n")


@behaviour("H5-tiny-chunks")
async def tiny_chunks(write: Write) -> None:
    """Ten million chunks of one byte."""
    write.write(_CHUNKED)
    block = b"1\r\nx\r\n" * 10_000
    for _ in range(1000):
        write.write(block)
        await write.drain()


@behaviour("H5-long-extension")
async def long_extension(write: Write) -> None:
    """A chunk extension of ten megabytes."""
    write.write(_CHUNKED + b"3;x=")
    for _ in range(160):
        write.write(b"x" * 65536)
        await write.drain()
    write.write(b"\r\nabc\r\n0\r\n\r\n")


@behaviour("H5-trailer-flood")
async def trailer_flood(write: Write) -> None:
    """Trailer fields without end."""
    write.write(_CHUNKED + b"3\r\nabc\r\n0\r\n")
    while True:
        write.write(b"X-Trailer: yes\r\n" * 1000)
        await write.drain()


# H6: bombs


def _zeros_gzip() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()


def _zeros_zlib() -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()


def _zeros_brotli() -> bytes:
    packer = brotli.Compressor(quality=6, lgwin=24)
    return b"".join(packer.process(bytes(MIB)) for _ in range(256)) + packer.finish()


def _zeros_zstd() -> bytes:
    packer = zstd.ZstdCompressor()
    return b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()


ZSTD_HUGE_WINDOW = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x4b\x00\x00x" + bytes(64)
"""A frame that asks for a window of 2 GiB (RFC 8878, 3.1.1.1.2), then one run-length block."""

BOMBS: dict[str, tuple[bytes, Callable[[], bytes]]] = {
    "H6-gzip": (b"gzip", _zeros_gzip),
    "H6-deflate": (b"deflate", _zeros_zlib),
    "H6-br": (b"br", _zeros_brotli),
    "H6-zstd": (b"zstd", _zeros_zstd),
    "H6-gzip-gzip": (b"gzip, gzip", lambda: gzip.compress(_zeros_gzip())),
    "H6-zstd-window": (b"zstd", lambda: ZSTD_HUGE_WINDOW),
}


@functools.cache
def bomb(name: str) -> bytes:
    """The answer, made once: it takes a while, and not on the loop that is being watched."""
    coding, make = BOMBS[name]
    return _whole(make(), b"Content-Encoding: %s\r\n" % coding)


def _bomb(name: str) -> Behaviour:
    async def explode(write: Write) -> None:
        write.write(bomb(name))
        await write.drain()

    explode.__doc__ = "64 or 256 MiB in a few bytes"
    return explode


BEHAVIOURS.update({name: _bomb(name) for name in BOMBS})

# H7: codings that are not what they say

PAGE = b"<html><body>" + b"hello world " * 100
sends(
    "H7-six-layers",
    _whole(PAGE, b"Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n"),
    says="six layers announced",
)
sends("H7-unknown", _whole(PAGE, b"Content-Encoding: x-made-up\r\n"), says="a coding nobody knows")
sends("H7-false-label", _whole(PAGE, b"Content-Encoding: gzip\r\n"), says="plain text labelled gzip")
sends(
    "H7-corrupt",
    _whole(gzip.compress(PAGE)[:20] + b"\xff" * 20 + gzip.compress(PAGE)[40:], b"Content-Encoding: gzip\r\n"),
    says="gzip with a hole",
)
sends("H7-cut", _whole(gzip.compress(PAGE)[:-12], b"Content-Encoding: gzip\r\n"), says="gzip without its end")
sends("H7-trailing", _whole(gzip.compress(PAGE) + b"junk!", b"Content-Encoding: gzip\r\n"), says="gzip and more")
sends(
    "H7-two-layers",
    _whole(gzip.compress(gzip.compress(PAGE)), b"Content-Encoding: gzip, gzip\r\n"),
    says="two layers, which we take",
)

# H8: header fields


@behaviour("H8-many-fields")
async def many_fields(write: Write) -> None:
    """Ten thousand header fields."""
    write.write(OK)
    for number in range(10_000):
        write.write(b"X-%d: y\r\n" % number)
    write.write(b"Content-Length: 2\r\n\r\nok")
    await write.drain()


@behaviour("H8-huge-field")
async def huge_field(write: Write) -> None:
    """One field of ten megabytes."""
    write.write(OK + b"X-Long: ")
    for _ in range(160):
        write.write(b"y" * 65536)
        await write.drain()
    write.write(b"\r\nContent-Length: 2\r\n\r\nok")


@behaviour("H8-endless-fields")
async def endless_fields(write: Write) -> None:
    """Header fields without end, none of them long."""
    write.write(OK)
    while True:
        write.write(b"X-Field: " + b"y" * 8000 + b"\r\n")
        await write.drain()


sends("H8-folded", _whole(b"ok", b"X-Folded: one\r\n two\r\n"), says="a field over two lines")
sends("H8-nul", _whole(b"ok", b"X-Nul: a\0b\r\n"), says="a NUL in a field")
sends("H8-cr", _whole(b"ok", b"X-Cr: a\rb\r\n"), says="a bare CR in a field")
sends("H8-two-types", _whole(b"ok", b"Content-Type: image/png\r\n"), says="two media types")

# H9, H10: odd answers


@behaviour("H9-interim")
async def interim(write: Write) -> None:
    """A hundred thousand answers that say: wait."""
    block = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000
    for _ in range(100):
        write.write(block)
        await write.drain()
    write.write(_whole(b"ok"))


@behaviour("H9-continue")
async def endless_continue(write: Write) -> None:
    """A hundred thousand times: go on."""
    for _ in range(100):
        write.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        await write.drain()
    write.write(_whole(b"ok"))


@behaviour("H9-slow-interim")
async def slow_interim(write: Write) -> None:
    """Now and then an interim answer, and never a real one."""
    for number in range(100, 104):
        write.write(b"HTTP/1.1 %d Wait\r\n\r\n" % (number if number != 101 else 102))
        await write.drain()
        await asyncio.sleep(0.05)
    await asyncio.sleep(3600)


sends("H9-one-interim", b"HTTP/1.1 103 Early Hints\r\n\r\n" + _whole(b"ok"), says="one interim answer")
for _status in (b"99", b"600", b"abc", b"999"):
    _line = b"HTTP/1.1 %s Odd\r\nContent-Length: 2\r\n\r\nok" % _status
    sends(f"H10-status-{_status.decode()}", _line, says="a status that is none")
sends("H10-http09", b"<html>just a page</html>", says="no header at all")
sends("H10-icy", b"ICY 200 OK\r\nContent-Length: 2\r\n\r\nok", says="another protocol's name")
sends("H10-http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", says="the preface of HTTP/2")
sends("H10-204-body", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", says="204 with a body")
sends(
    "H10-204-chunked",
    b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    says="and in chunks",
)
sends("H10-304-body", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", says="304 with a body")
sends(
    "H10-304-honest", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", says="the length of what is not sent"
)


@behaviour("H10-304-body-later")
async def late_body(write: Write) -> None:
    """304, and a moment later a body that it must not have."""
    write.write(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
    await write.drain()
    await asyncio.sleep(0.02)
    write.write(b"hello")
    await write.drain()
    await asyncio.sleep(3600)


sends("H10-http3", b"HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="a version that is not spoken like this")
sends("H10-http12", b"HTTP/1.12 200 OK\r\nContent-Length: 2\r\n\r\nok", says="a version that is none")
sends("H10-empty", b"", says="nothing at all")
sends("H10-206", b"HTTP/1.1 206 Partial\r\nContent-Length: 5\r\n\r\nhello", says="a part nobody asked for")
sends("H10-101", b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", says="an upgrade")


# H11: redirects


@behaviour("H11-huge-location")
async def huge_location(write: Write) -> None:
    """A Location of ten megabytes."""
    write.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /")
    for _ in range(160):
        write.write(b"y" * 65536)
        await write.drain()
    write.write(b"\r\n\r\n")


_FOUND = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
sends("H11-loop", _FOUND + b"Location: /H11-loop\r\n\r\n", says="a redirect to itself")
sends("H11-ping", _FOUND + b"Location: /H11-pong\r\n\r\n", says="a redirect to one that leads back")
sends("H11-pong", _FOUND + b"Location: /H11-ping\r\n\r\n", says="a redirect to one that leads back")
for _left in range(1, 51):
    sends(
        f"H11-chain-{_left}", _FOUND + b"Location: /H11-chain-%d\r\n\r\n" % (_left - 1), says="one of fifty redirects"
    )
sends("H11-chain-0", _whole(b"the end"), says="the end of the chain")
sends("H11-two-locations", _FOUND + b"Location: /a\r\nLocation: /b\r\n\r\n", says="two Locations")
sends("H11-spaces", _FOUND + b"Location:  \t /a b \t \r\n\r\n", says="a Location with blanks in and around it")

# H12: cookies


@behaviour("H12-many-cookies")
async def many_cookies(write: Write) -> None:
    """Five thousand cookies."""
    write.write(OK)
    for number in range(5_000):
        write.write(b"Set-Cookie: c%d=v\r\n" % number)
    write.write(b"Content-Length: 2\r\n\r\nok")
    await write.drain()


@behaviour("H12-huge-cookie")
async def huge_cookie(write: Write) -> None:
    """A cookie of a megabyte."""
    write.write(OK + b"Set-Cookie: c=" + b"v" * MIB + b"\r\nContent-Length: 2\r\n\r\nok")
    await write.drain()


_COOKIES = (
    b"Set-Cookie: a=1; Domain=co.uk\r\nSet-Cookie: b=2; Domain=test\r\nSet-Cookie: c=3; Domain=other.test; Path=/\r\n"
)
sends("H12-foreign-cookies", _whole(b"ok", _COOKIES + b"Set-Cookie: d=4\r\n"), says="cookies for everybody")

# H14: connections


@behaviour("H14-half-close")
async def half_close(write: Write) -> None:
    """A whole answer, then no more from this side."""
    write.write(_whole(b"half"))
    await write.drain()
    write.write_eof()
    await asyncio.sleep(3600)


@behaviour("H14-reset")
async def reset(write: Write) -> None:
    """Half an answer, then the connection is torn down."""
    write.write(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)
    await write.drain()
    await asyncio.sleep(0.05)
    tear_down(write)


def tear_down(write: Write) -> None:
    """RST instead of FIN."""
    write.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    write.transport.abort()


@behaviour("H14-second-answer")
async def second_answer(write: Write) -> None:
    """A whole answer, and a little later a second one that nobody asked for."""
    write.write(_whole(b"first"))
    await write.drain()
    await asyncio.sleep(0.02)
    write.write(_whole(b"unasked"))
    await write.drain()
    await asyncio.sleep(3600)


class HostileServer:
    """`async with HostileServer() as server`: listens on `server.port` of loopback."""

    def __init__(self) -> None:
        self.port = 0
        self.questions: list[bytes] = []
        self.open_now = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=MIB)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, read: asyncio.StreamReader, write: Write) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_now += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(read, write)
        self.open_now -= 1
        self._tasks.discard(task)
        write.transport.abort() if task.cancelling() else write.close()

    async def _answer(self, read: asyncio.StreamReader, write: Write) -> None:
        question = await read.readuntil(b"\r\n\r\n")
        self.questions.append(question)
        name = question.split(b" ", 2)[1].decode("ascii").strip("/")
        chosen = BEHAVIOURS.get(name)
        if chosen is None:
            write.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        behaving = asyncio.ensure_future(chosen(write))
        leaving = asyncio.ensure_future(read.read())
        try:
            await asyncio.wait((behaving, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            behaving.cancel()
            leaving.cancel()
            await asyncio.gather(behaving, leaving, return_exceptions=True)
