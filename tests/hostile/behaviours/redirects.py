"""H11: redirects that loop, never end, or cannot be parsed."""

from tests.hostile.behaviour import FOUND, Request, Write, behaviour, moved, sends, whole


@behaviour("H11-huge-location")
async def huge_location(write: Write, request: Request) -> None:
    """A Location of ten megabytes."""
    write.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /")
    for _ in range(160):
        write.write(b"y" * 65536)
        await write.drain()
    write.write(b"\r\n\r\n")


sends("H11-loop", FOUND + b"Location: /H11-loop\r\n\r\n", says="a redirect to itself")
sends("H11-ping", FOUND + b"Location: /H11-pong\r\n\r\n", says="a redirect to a page that redirects back")
sends("H11-pong", FOUND + b"Location: /H11-ping\r\n\r\n", says="a redirect to a page that redirects back", is_step=True)
for _left in range(1, 51):
    _onward = FOUND + b"Location: /H11-chain-%d\r\n\r\n" % (_left - 1)
    sends(f"H11-chain-{_left}", _onward, says="one of fifty redirects", is_step=_left < 50)
sends("H11-chain-0", whole(b"the end"), says="the end of the chain", is_step=True)
sends("H11-two-locations", FOUND + b"Location: /a\r\nLocation: /b\r\n\r\n", says="two Locations")
sends("H11-spaces", FOUND + b"Location:  \t /a b \t \r\n\r\n", says="a Location with spaces in and around it")


@behaviour("H11-endless")
async def endless(write: Write, request: Request) -> None:
    """Each redirect leads to a new URL."""
    write.write(moved(f"/{int(request.target.strip('/') or 0) + 1}"))


@behaviour("H11-between-hosts", hosts=("*.h11-between-hosts.test",))
async def between_hosts(write: Write, request: Request) -> None:
    """Each redirect leads to a new subdomain of this host."""
    first = request.host.partition(".")[0]
    number = int(first[1:]) if first[1:].isdecimal() else 0
    write.write(moved(f"http://r{number + 1}.h11-between-hosts.test/"))


sends("H11-not-ascii", moved("/é☃ \u202e".encode()), says="a Location in raw UTF-8, with a bidi override")
sends("H11-latin", moved(b"/\xe9\xff\xfe"), says="a Location in no encoding")
sends("H11-no-location", FOUND + b"\r\n", says="a redirect without a Location")
sends("H11-empty-location", FOUND + b"Location: \r\n\r\n", says="an empty Location")
sends("H11-fragment", moved("/#top"), says="a redirect to a fragment of itself")
sends("H11-300", b"HTTP/1.1 300 Choices\r\nContent-Length: 0\r\nLocation: /a\r\n\r\n", says="300 with a Location")
sends("H11-304-location", b"HTTP/1.1 304 Not\r\nLocation: /a\r\n\r\n", says="304 with a Location, unrequested")
sends("H13-credentials", moved("http://user:password@h13-credentials.test/x"), says="a redirect with a password in it")
sends(
    "H11-split-location",
    FOUND + b"Location: /a%0d%0aSet-Cookie:%20x=1\r\nLocation : /b\r\n\r\n",
    says="a Location with a line break in it, and a space before a colon",
)
