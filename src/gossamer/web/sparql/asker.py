"""Putting a question to a worker for somebody who may leave before it is answered."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request

from gossamer.base.errors import QueryRefused, QueryTooLong

T = TypeVar("T")


def status_of(trouble: QueryRefused) -> int:
    return 503 if isinstance(trouble, QueryTooLong) else 400


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The work's result. A query whose asker has gone is dropped, and its worker freed (FAULTS W12)."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise QueryTooLong("The asker has gone.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
