"""H8 to H10, H12: header fields, interim responses, status lines and cookies."""

import asyncio

from tests.hostile.behaviour import MIB, OK, Request, Write, behaviour, page, sends, whole

# H8: header fields


@behaviour("H8-many-fields")
async def many_fields(write: Write, request: Request) -> None:
    """Ten thousand header fields."""
    write.write(OK)
    for number in range(10_000):
        write.write(b"X-%d: y\r\n" % number)
    write.write(b"Content-Length: 2\r\n\r\nok")
    await write.drain()


@behaviour("H8-huge-field")
async def huge_field(write: Write, request: Request) -> None:
    """One field of ten megabytes."""
    write.write(OK + b"X-Long: ")
    for _ in range(160):
        write.write(b"y" * 65536)
        await write.drain()
    write.write(b"\r\nContent-Length: 2\r\n\r\nok")


@behaviour("H8-endless-fields")
async def endless_fields(write: Write, request: Request) -> None:
    """Endless header fields, none of them long."""
    write.write(OK)
    while True:
        write.write(b"X-Field: " + b"y" * 8000 + b"\r\n")
        await write.drain()


sends("H8-folded", whole(b"ok", b"X-Folded: one\r\n two\r\n"), says="a field over two lines")
sends("H8-nul", whole(b"ok", b"X-Nul: a\0b\r\n"), says="a NUL in a field")
sends("H8-cr", whole(b"ok", b"X-Cr: a\rb\r\n"), says="a bare CR in a field")
sends("H8-two-types", OK + b"Content-Type: image/png\r\nContent-Length: 2\r\n\r\nok", says="two media types")

# H9, H10: odd responses


@behaviour("H9-interim")
async def interim(write: Write, request: Request) -> None:
    """A hundred thousand responses with status 103."""
    block = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000
    for _ in range(100):
        write.write(block)
        await write.drain()
    write.write(whole(b"ok"))


@behaviour("H9-continue")
async def endless_continue(write: Write, request: Request) -> None:
    """A hundred thousand responses with status 100."""
    for _ in range(100):
        write.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
        await write.drain()
    write.write(whole(b"ok"))


@behaviour("H9-slow-interim")
async def slow_interim(write: Write, request: Request) -> None:
    """Interim responses from time to time, and never a final one."""
    for number in range(100, 104):
        write.write(b"HTTP/1.1 %d Wait\r\n\r\n" % (number if number != 101 else 102))
        await write.drain()
        await asyncio.sleep(0.05)
    await asyncio.sleep(3600)


sends("H9-one-interim", b"HTTP/1.1 103 Early Hints\r\n\r\n" + whole(b"ok"), says="one interim response")
for _status in (b"99", b"600", b"abc", b"999"):
    _line = b"HTTP/1.1 %s Odd\r\nContent-Length: 2\r\n\r\nok" % _status
    sends(f"H10-status-{_status.decode()}", _line, says="an invalid status")
sends("H10-http09", b"<html>just a page</html>", says="no header")
sends("H10-icy", b"ICY 200 OK\r\nContent-Length: 2\r\n\r\nok", says="another protocol's name")
sends("H10-http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", says="the preface of HTTP/2")
sends("H10-204-body", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", says="204 with a body")
sends(
    "H10-204-chunked",
    b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    says="204 with a chunked body",
)
sends("H10-304-body", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", says="304 with a body")
sends("H10-304-honest", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", says="304 with a length and no body")


@behaviour("H10-304-body-later")
async def late_body(write: Write, request: Request) -> None:
    """304, and a moment later a body that it must not have."""
    write.write(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
    await write.drain()
    await asyncio.sleep(0.02)
    write.write(b"hello")
    await write.drain()
    await asyncio.sleep(3600)


sends("H10-rtsp2", b"RTSP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="RTSP/2.0, a video protocol")
sends("H10-sip", b"SIP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="a response of SIP, a telephone protocol")
sends("H10-http2-status", b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="HTTP/2.0 in a status line")
sends("H10-http2-short", b"HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok", says="HTTP/2 in a status line")
sends("H10-lower-case", b"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", says="the protocol in lower case")
sends("H10-http3", b"HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="HTTP/3.0 in a status line")
sends("H10-http12", b"HTTP/1.12 200 OK\r\nContent-Length: 2\r\n\r\nok", says="an invalid version")
sends("H10-empty", b"", says="no bytes")
sends("H10-206", b"HTTP/1.1 206 Partial\r\nContent-Length: 5\r\n\r\nhello", says="206 without a range request")
sends("H10-101", b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", says="an upgrade")


# H12: cookies


@behaviour("H12-many-cookies")
async def many_cookies(write: Write, request: Request) -> None:
    """Five thousand cookies."""
    write.write(OK)
    for number in range(5_000):
        write.write(b"Set-Cookie: c%d=v\r\n" % number)
    write.write(b"Content-Length: 2\r\n\r\nok")
    await write.drain()


@behaviour("H12-huge-cookie")
async def huge_cookie(write: Write, request: Request) -> None:
    """A cookie of a megabyte."""
    write.write(OK + b"Set-Cookie: c=" + b"v" * MIB + b"\r\nContent-Length: 2\r\n\r\nok")
    await write.drain()


_COOKIES = (
    b"Set-Cookie: a=1; Domain=co.uk\r\nSet-Cookie: b=2; Domain=test\r\nSet-Cookie: c=3; Domain=other.test; Path=/\r\n"
)
sends("H12-foreign-cookies", whole(b"ok", _COOKIES + b"Set-Cookie: d=4\r\n"), says="cookies for other domains")

# H15, H16: wrong media types, and servers that ask to wait

_HTML = b"<!DOCTYPE html><title>typed</title><p>words<a href=/x>x</a>"
sends("H15-html-as-image", whole(_HTML, b"Content-Type: image/png\r\n"), says="HTML labelled as an image")
sends("H15-image-as-html", whole(b"\x89PNG\r\n\x1a\n" + bytes(4096)), says="an image labelled as HTML")
sends("H15-pdf-as-text", whole(b"%PDF-1.7\n" + bytes(4096), b"Content-Type: text/plain\r\n"), says="PDF as text")
sends("H15-zip-as-html", whole(b"PK\x03\x04" + bytes(4096)), says="an archive labelled as HTML")
sends("H15-no-type", b"HTTP/1.1 200 OK\r\nContent-Length: 59\r\n\r\n" + _HTML, says="no media type")
sends("H15-odd-type", whole(_HTML, b"Content-Type: " + b"text/html;" * 3000 + b"\r\n"), says="a type of 30 kB")
sends("H15-type-injection", whole(_HTML, b"Content-Type: text/html\x00;\x1b[31m\r\n"), says="controls in the type")
for _label, _wait in {
    "nothing": b"0",
    "minus": b"-5",
    "five": b"5",
    "ages": b"1000000000000",
    "words": b"soon",
    "year-9999": b"Fri, 31 Dec 9999 23:59:59 GMT",
}.items():
    _busy = b"HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n" % _wait
    sends(f"H16-wait-{_label}", _busy, says=f"503, Retry-After: {_wait.decode()}")
sends("H16-500", b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", says="500 to everything")
sends("H16-429", b"HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n", says="429 to everything")


@behaviour("H16-flapping")
async def flapping(write: Write, request: Request) -> None:
    """An error and a page, alternating."""
    is_up = request.times % 2
    write.write(
        page("Up", *(f"/{n}" for n in range(8))) if is_up else b"HTTP/1.1 500 Down\r\nContent-Length: 0\r\n\r\n"
    )


# Other odd header sections

sends(
    "H4-smuggled",
    OK + b"Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc",
    says="an unknown transfer coding",
)
sends("H4-chunked-twice", OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", says="chunked twice")
sends("H4-chunked-tab", OK + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", says="a control before chunked")
sends("H4-space-colon", OK + b"Content-Length : 3\r\n\r\nabc", says="a space before the colon")
sends("H4-lf-only", b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 3\n\nabc", says="lines that end in LF")
sends("H8-no-colon", OK + b"just words\r\nContent-Length: 2\r\n\r\nok", says="a line without a colon")
sends("H8-no-name", OK + b": value\r\nContent-Length: 2\r\n\r\nok", says="a field without a name")
sends("H8-eight-bit", whole(b"ok", bytes([*b"X-", 0xFF, 0xFE, *b": v\r\n"])), says="a field name that is not ASCII")
sends("H8-reason", b"HTTP/1.1 200 " + b"OK " * 20_000 + b"\r\nContent-Length: 2\r\n\r\nok", says="a reason of 60 kB")
sends("H8-dates", whole(b"ok", b"Last-Modified: 99 Foo 99\r\nDate: 0\r\nExpires: -1\r\nAge: x\r\n"), says="odd dates")
sends("H8-etag", whole(b"ok", b'ETag: "' + b"e" * 8000 + b'"\r\n'), says="an ETag of 8 kB")
sends("H10-rtsp", b"RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="the name of a video protocol")
sends("H10-http20", b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", says="HTTP/2.0 with the syntax of HTTP/1")
sends("H10-binary", bytes(range(256)) * 200, says="bytes that are not HTTP")
sends("H10-request", b"GET / HTTP/1.1\r\nHost: you\r\n\r\n", says="a request instead of a response")
