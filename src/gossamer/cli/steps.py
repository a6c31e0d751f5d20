"""Progress of the commands that are no crawl: a line that changes on a terminal, a plain one now and then elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status

from gossamer.base.clock import Clock

EVERY_S = 5.0
FIRST_S = 2.0


class Working:
    """`with Working("importing", clock) as progress: progress.says("importing: 12 captures")`."""

    def __init__(self, words: str, clock: Clock, console: Console | None = None, quiet: bool = False) -> None:
        """`quiet`: the output itself fills the terminal, and is progress enough."""
        self._words, self._clock = words, clock
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._status: Status | None = None
        self._next = 0.0

    def __enter__(self) -> Self:
        self._next = self._clock.elapsed_s() + FIRST_S
        if self._console.is_terminal and not self._quiet:
            self._status = self._console.status(self._words)
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, trouble: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def says(self, words: str) -> None:
        if self._status is not None:
            self._status.update(words)
        elif not self._quiet and self._clock.elapsed_s() >= self._next:
            self._next = self._clock.elapsed_s() + EVERY_S
            self._console.print(words, highlight=False)
