"""H11: redirects that go round, go on, or cannot be read."""

from tests.hostile.behaviour import FOUND, Asked, Write, behaviour, sends, whole


@behaviour("H11-huge-location")
async def huge_location(write: Write, asked: Asked) -> None:
    """A Location of ten megabytes."""
    write.write(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /")
    for _ in range(160):
        write.write(b"y" * 65536)
        await write.drain()
    write.write(b"\r\n\r\n")


sends("H11-loop", FOUND + b"Location: /H11-loop\r\n\r\n", says="a redirect to itself")
sends("H11-ping", FOUND + b"Location: /H11-pong\r\n\r\n", says="a redirect to one that leads back")
sends("H11-pong", FOUND + b"Location: /H11-ping\r\n\r\n", says="a redirect to one that leads back", is_step=True)
for _left in range(1, 51):
    _onward = FOUND + b"Location: /H11-chain-%d\r\n\r\n" % (_left - 1)
    sends(f"H11-chain-{_left}", _onward, says="one of fifty redirects", is_step=_left < 50)
sends("H11-chain-0", whole(b"the end"), says="the end of the chain", is_step=True)
sends("H11-two-locations", FOUND + b"Location: /a\r\nLocation: /b\r\n\r\n", says="two Locations")
sends("H11-spaces", FOUND + b"Location:  \t /a b \t \r\n\r\n", says="a Location with blanks in and around it")
