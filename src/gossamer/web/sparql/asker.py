"""Putting a question to a worker for somebody who may leave before it is answered."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from fastapi import Request

from gossamer.base.errors import QueryRefused, QueryTooLong
from gossamer.base.tasks import background

T = TypeVar("T")


def status_of(trouble: QueryRefused) -> int:
    return 503 if isinstance(trouble, QueryTooLong) else 400


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The work's result. A query whose asker has gone is dropped, and its worker freed (FAULTS W12)."""
    async with background(left(request)) as leaving, background(work) as working:
        either: set[asyncio.Future[Any]] = {working, leaving}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise QueryTooLong("The client has disconnected.")
        return working.result()


async def left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
