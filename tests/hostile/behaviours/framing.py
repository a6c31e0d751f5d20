"""H1 to H5: responses that are slow, endless, or framed by wrong lengths and chunks."""

import asyncio

from tests.hostile.behaviour import OK, Request, Write, behaviour, sends

# H1: slow


@behaviour("H1-slow-headers")
async def slow_headers(write: Write, request: Request) -> None:
    """One byte of a header field at a time, without end."""
    write.write(OK)
    while True:
        write.write(b"x")
        await write.drain()
        await asyncio.sleep(0.02)


@behaviour("H1-slow-body")
async def slow_body(write: Write, request: Request) -> None:
    """One byte of the body at a time, without end."""
    write.write(OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        write.write(b"x")
        await write.drain()
        await asyncio.sleep(0.02)


@behaviour("H1-stalled-body")
async def stalled_body(write: Write, request: Request) -> None:
    """Half of the body, then nothing."""
    write.write(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)
    await write.drain()
    await asyncio.sleep(3600)


@behaviour("H1-silence")
async def silence(write: Write, request: Request) -> None:
    """The request is read and never answered."""
    await asyncio.sleep(3600)


# H2: endless


@behaviour("H2-endless-chunks")
async def endless_chunks(write: Write, request: Request) -> None:
    """An endless chunked body."""
    write.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        write.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        await write.drain()


@behaviour("H2-endless-plain")
async def endless_plain(write: Write, request: Request) -> None:
    """An endless body without a length."""
    write.write(OK + b"\r\n")
    while True:
        write.write(b"x" * 65536)
        await write.drain()


# H3, H4: wrong lengths

sends("H3-early-close", OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 400, says="400 of 1000 bytes, then the end")
sends("H3-early-close-chunked", OK + b"Transfer-Encoding: chunked\r\n\r\n400\r\nxyz", says="a chunk cut off")
sends("H4-length-too-small", OK + b"Content-Length: 5\r\n\r\n" + b"x" * 50, says="more bytes than announced")
sends(
    "H4-length-and-chunked",
    OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    says="Content-Length and Transfer-Encoding",
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
sends("H5-bad-hex", _CHUNKED + b"xyz\r\nabc\r\n0\r\n\r\n", says="a chunk size that is not a number")
sends("H5-no-terminator", _CHUNKED + b"3\r\nabc\r\n", says="no last chunk")
sends("H5-bad-end", _CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n", says="a chunk longer than its size")


@behaviour("H5-bad-hex-later")
async def bad_hex_later(write: Write, request: Request) -> None:
    """A good chunk, and a moment later a size that is not a number."""
    write.write(_CHUNKED + b"3\r\nabc\r\n")
    await write.drain()
    await asyncio.sleep(0.05)
    write.write(b"xyz\r\n")


@behaviour("H5-tiny-chunks")
async def tiny_chunks(write: Write, request: Request) -> None:
    """Ten million chunks of one byte."""
    write.write(_CHUNKED)
    block = b"1\r\nx\r\n" * 10_000
    for _ in range(1000):
        write.write(block)
        await write.drain()


@behaviour("H5-long-extension")
async def long_extension(write: Write, request: Request) -> None:
    """A chunk extension of ten megabytes."""
    write.write(_CHUNKED + b"3;x=")
    for _ in range(160):
        write.write(b"x" * 65536)
        await write.drain()
    write.write(b"\r\nabc\r\n0\r\n\r\n")


@behaviour("H5-trailer-flood")
async def trailer_flood(write: Write, request: Request) -> None:
    """Endless trailer fields."""
    write.write(_CHUNKED + b"3\r\nabc\r\n0\r\n")
    while True:
        write.write(b"X-Trailer: yes\r\n" * 1000)
        await write.drain()
