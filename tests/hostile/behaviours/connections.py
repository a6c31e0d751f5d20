"""H14: connections that are closed, reset or written to at the wrong time."""

import asyncio

from tests.hostile.behaviour import OK, Request, Write, behaviour, page, reset_connection, whole

POISON = b"POISON"
"""In every response that no request belongs to."""


@behaviour("H14-half-close")
async def half_close(write: Write, request: Request) -> None:
    """A complete response, then the sending side is closed."""
    write.write(whole(b"half"))
    await write.drain()
    write.write_eof()
    await asyncio.sleep(3600)


@behaviour("H14-reset")
async def reset(write: Write, request: Request) -> None:
    """Half a response, then the connection is reset."""
    write.write(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)
    await write.drain()
    await asyncio.sleep(0.05)
    reset_connection(write)


@behaviour("H14-second-answer")
async def second_answer(write: Write, request: Request) -> None:
    """A complete response, and a little later a second one without a request."""
    write.write(whole(b"first"))
    await write.drain()
    await asyncio.sleep(0.02)
    write.write(whole(b"POISON"))
    await write.drain()
    await asyncio.sleep(3600)


@behaviour("H14-reset-at-once")
async def reset_at_once(write: Write, request: Request) -> None:
    """The connection is reset when the request has arrived."""
    reset_connection(write)


@behaviour("H14-reset-in-head")
async def reset_in_head(write: Write, request: Request) -> None:
    """Reset within the header fields."""
    write.write(OK + b"X-Half: ")
    await write.drain()
    await asyncio.sleep(0.05)
    reset_connection(write)


@behaviour("H14-reset-after")
async def reset_after(write: Write, request: Request) -> None:
    """Reset right after a complete response."""
    write.write(whole(b"<p>all of it"))
    await write.drain()
    await asyncio.sleep(0.05)
    reset_connection(write)


@behaviour("H14-reset-in-chunks")
async def reset_in_chunks(write: Write, request: Request) -> None:
    """Reset between two chunks."""
    write.write(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await write.drain()
    await asyncio.sleep(0.05)
    reset_connection(write)


@behaviour("H14-desync", keeps_alive=True)
async def desync(write: Write, request: Request) -> None:
    """Each response is followed by another one, to be taken for the response to the next request on this connection."""
    poison = page(POISON.decode(), body="a response without a request")
    write.write(page(f"Answer to {request.target}", *(f"/{n}" for n in range(6)), body=f"my {request.target}") + poison)
    await write.drain()


@behaviour("H14-swapped", keeps_alive=True)
async def swapped(write: Write, request: Request) -> None:
    """Content-Length two bytes short: the rest becomes the beginning of the next response."""
    body = page(f"At {request.target}", *(f"/{n}" for n in range(4)))
    head, _, rest = body.partition(b"\r\n\r\n")
    write.write(head.replace(b"%d" % len(rest), b"%d" % (len(rest) - 2)) + b"\r\n\r\n" + rest)
    await write.drain()


@behaviour("H14-keeps-open")
async def keeps_open(write: Write, request: Request) -> None:
    """Announces that it will close the connection, and does not."""
    write.write(whole(b"<p>bye", b"Connection: close\r\n"))
    await write.drain()
    await asyncio.sleep(3600)
