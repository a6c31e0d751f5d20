"""The queues in front of the workers, by what a job is likely to cost. Pure."""

from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from typing import Generic, Protocol, TypeVar


class Line(IntEnum):
    """Cheapest first."""

    PROVEN = 0
    """Likely to be cheap: the host's earlier ones were."""
    SMALL = 1
    """Of somebody unknown, or whose jobs are neither cheap nor heavy."""
    LARGE = 2
    """Of somebody unknown, and large."""
    HEAVY = 3
    """Known to take long, or very large."""


PASSED_OVER = 3
"""To the power of the line: jobs of cheaper lines that go before its next one, so that no line starves."""


class Lined(Protocol):
    line: Line


J = TypeVar("J", bound=Lined)


class Lines(Generic[J]):
    """One queue a line. The cheapest goes first, but every line moves on while the cheaper ones are never empty."""

    def __init__(self) -> None:
        self._queues: tuple[deque[J], ...] = tuple(deque() for _ in Line)
        self._passed_over = [0] * len(Line)

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def __iter__(self) -> Iterator[J]:
        for queue in self._queues:
            yield from queue

    def count(self, line: Line) -> int:
        return len(self._queues[line])

    def append(self, job: J) -> None:
        self._queues[job.line].append(job)

    def appendleft(self, job: J) -> None:
        """It was taken before, and is the next of its line."""
        self._queues[job.line].appendleft(job)

    def discard(self, job: J) -> None:
        if job in (queue := self._queues[job.line]):
            queue.remove(job)

    def take(self, dearest: Line) -> J | None:
        """The next job of this line or a cheaper one; None: there is none."""
        waiting = [line for line in Line if line <= dearest and self._queues[line]]
        if not waiting:
            return None
        overdue = (line for line in reversed(waiting) if self._passed_over[line] >= PASSED_OVER**line)
        chosen = next(overdue, waiting[0])
        self._passed_over[chosen] = 0
        for line in waiting:
            if line > chosen:
                self._passed_over[line] += 1
        return self._queues[chosen].popleft()

    def take_heavy(self) -> J | None:
        queue = self._queues[Line.HEAVY]
        return queue.popleft() if queue else None

    def clear(self) -> None:
        for queue in self._queues:
            queue.clear()
