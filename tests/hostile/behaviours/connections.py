"""H14: connections that are closed, torn down or written to at the wrong time."""

import asyncio

from tests.hostile.behaviour import OK, Asked, Write, behaviour, tear_down, whole


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
    write.write(whole(b"unasked"))
    await write.drain()
    await asyncio.sleep(3600)
