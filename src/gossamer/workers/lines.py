"""The queues in front of the workers, by what a job is likely to cost. Pure."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from enum import IntEnum
from typing import Generic, Protocol, TypeVar


class Queue(IntEnum):
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
    line: Queue


J = TypeVar("J", bound=Lined)


class Lines(Generic[J]):
    """One queue a line. The cheapest goes first, but every line moves on while the cheaper ones are never empty."""

    def __init__(self) -> None:
        self._queues: tuple[deque[J], ...] = tuple(deque() for _ in Queue)
        self._passed_over = [0] * len(Queue)

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def __iter__(self) -> Iterator[J]:
        for queue in self._queues:
            yield from queue

    def count(self, line: Queue) -> int:
        return len(self._queues[line])

    def append(self, job: J) -> None:
        self._queues[job.line].append(job)

    def appendleft(self, job: J) -> None:
        """It was taken before, and is the next of its line."""
        self._queues[job.line].appendleft(job)

    def discard(self, job: J) -> None:
        if job in (queue := self._queues[job.line]):
            queue.remove(job)

    def take(self, dearest: Queue) -> J | None:
        """The next job of this line or a cheaper one; None: there is none."""
        waiting = [line for line in Queue if line <= dearest and self._queues[line]]
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
        queue = self._queues[Queue.HEAVY]
        return queue.popleft() if queue else None

    def clear(self) -> None:
        for queue in self._queues:
            queue.clear()


# What pages are likely to cost a reader, from their size and the host's earlier pages. No IO.

PROVEN_S = 0.05
"""CPU seconds; an ordinary page takes two to twenty milliseconds."""
HEAVY_S = 0.25
SMALL_BYTES = 64 << 10
HEAVY_BYTES = 1 << 20
FADES = 0.25
"""How much of the distance to a cheaper page the expectation moves. A dear one counts in full at once, so that a host
cannot earn the quick line with every other page: after one of 5 s it takes 17 cheap ones."""
_MOST_HOSTS = 1 << 15


class Costs:
    """Remembers what to expect of a host; bounded, the longest unseen is forgotten first."""

    def __init__(self) -> None:
        self._expected_s: OrderedDict[str, float] = OrderedDict()

    def note(self, host: str, cpu_s: float) -> None:
        """A page of this host was read, or could not be, and took so long."""
        before_s = self._expected_s.pop(host, cpu_s)
        self._expected_s[host] = max(cpu_s, before_s + FADES * (cpu_s - before_s))
        if len(self._expected_s) > _MOST_HOSTS:
            self._expected_s.popitem(last=False)

    def line(self, host: str, size: int, is_page: bool = True) -> Queue:
        """Where a body of `size` bytes from there waits. What is no page to be read is as cheap as it is small."""
        expected_s = self._expected_s.get(host) if is_page else 0.0
        if is_page and (size > HEAVY_BYTES or (expected_s is not None and expected_s >= HEAVY_S)):
            return Queue.HEAVY
        if size > SMALL_BYTES and (expected_s is None or not is_page):
            return Queue.LARGE
        return Queue.PROVEN if expected_s is not None and expected_s < PROVEN_S else Queue.SMALL
