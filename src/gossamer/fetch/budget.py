"""Room in memory for large bodies, shared by all visits under way."""

import asyncio
from collections import deque

FREE = 256 * 1024
"""What every visit may take in without asking; how many there are at one time bounds the sum of it."""


class Budget:
    """Granted whole or not yet, in the order asked for.

    Two visits that each hold half of what both need would wait for each other; therefore a visit asks once, for the
    most it may still take in. Whoever has been granted room ends by its own deadline, so that everybody's turn comes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        return self._most - self._left

    async def take(self, wanted: int) -> int:
        """Wait until there is room; how much was granted is to be given back. More than all there is cannot be had."""
        size = min(wanted, self._most)
        if size <= self._left and not self._waiting:
            self._left -= size
            return size
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # granted just as the visit was given up
                self.give_back(size)
            else:
                self._waiting.remove((size, turn))
                self.give_back(0)  # who stands behind may fit
            raise
        return size

    def give_back(self, size: int) -> None:
        self._left += size
        while self._waiting and self._waiting[0][0] <= self._left:
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= size
                turn.set_result(None)
