"""H14: connections that are closed, torn down or written to at the wrong time."""

import asyncio

from tests.hostile.behaviour import OK, Asked, Write, behaviour, page, tear_down, whole

POISON = b"POISON"
"""In every answer that nobody asked for."""


@behaviour("H14-half-close")
async def half_close(write: Write, asked: Asked) -> None:
    """A whole answer, then no more from this side."""
    write.write(whole(b"half"))
    await write.drain()
    write.write_eof()
    await asyncio.sleep(3600)


@behaviour("H14-reset")
async def reset(write: Write, asked: Asked) -> None:
    """Half an answer, then the connection is torn down."""
    write.write(OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)
    await write.drain()
    await asyncio.sleep(0.05)
    tear_down(write)


@behaviour("H14-second-answer")
async def second_answer(write: Write, asked: Asked) -> None:
    """A whole answer, and a little later a second one that nobody asked for."""
    write.write(whole(b"first"))
    await write.drain()
    await asyncio.sleep(0.02)
    write.write(whole(b"POISON"))
    await write.drain()
    await asyncio.sleep(3600)


@behaviour("H14-reset-at-once")
async def reset_at_once(write: Write, asked: Asked) -> None:
    """The connection is torn down when the request has come."""
    tear_down(write)


@behaviour("H14-reset-in-head")
async def reset_in_head(write: Write, asked: Asked) -> None:
    """Torn down within the header fields."""
    write.write(OK + b"X-Half: ")
    await write.drain()
    await asyncio.sleep(0.05)
    tear_down(write)


@behaviour("H14-reset-after")
async def reset_after(write: Write, asked: Asked) -> None:
    """Torn down right after a whole answer."""
    write.write(whole(b"<p>all of it"))
    await write.drain()
    await asyncio.sleep(0.05)
    tear_down(write)


@behaviour("H14-reset-in-chunks")
async def reset_in_chunks(write: Write, asked: Asked) -> None:
    """Torn down between two chunks."""
    write.write(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    await write.drain()
    await asyncio.sleep(0.05)
    tear_down(write)


@behaviour("H14-desync", keeps_alive=True)
async def desync(write: Write, asked: Asked) -> None:
    """Each answer has another one behind it, meant for whoever asks next on this connection."""
    poison = page(POISON.decode(), body="an answer to nobody's question")
    write.write(page(f"Answer to {asked.target}", *(f"/{n}" for n in range(6)), body=f"mine {asked.target}") + poison)
    await write.drain()


@behaviour("H14-swapped", keeps_alive=True)
async def swapped(write: Write, asked: Asked) -> None:
    """Content-Length two bytes short: the rest is the beginning of the next answer."""
    body = page(f"At {asked.target}", *(f"/{n}" for n in range(4)))
    head, _, rest = body.partition(b"\r\n\r\n")
    write.write(head.replace(b"%d" % len(rest), b"%d" % (len(rest) - 2)) + b"\r\n\r\n" + rest)
    await write.drain()


@behaviour("H14-keeps-open")
async def keeps_open(write: Write, asked: Asked) -> None:
    """Says that it will close, and does not."""
    write.write(whole(b"<p>bye", b"Connection: close\r\n"))
    await write.drain()
    await asyncio.sleep(3600)
