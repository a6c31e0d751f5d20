"""How far a view is behind the archive, as the crawler sees it: it slows down when the words cannot keep up."""

from collections import deque
from dataclasses import dataclass, field

from gossamer.base.clock import Clock


@dataclass(slots=True)
class Backlog:
    """What has been settled and is not yet known to be searchable; one entry a group, so it stays small."""

    clock: Clock
    _waiting: deque[tuple[str, int, float]] = field(default_factory=deque)

    def added(self, volume: str, number: int) -> None:
        """The group that ends with this record has been settled."""
        self._waiting.append((volume, number, self.clock.elapsed_s()))

    def passed(self, volume: str, number: int) -> bool:
        """The view has everything before this number of this volume; whether that is more than was known."""
        before = len(self._waiting)
        while self._waiting and self._waiting[0][:2] < (volume, number):
            self._waiting.popleft()
        return len(self._waiting) < before

    def lag_s(self) -> float:
        """The age of the oldest group that is not searchable yet."""
        return self.clock.elapsed_s() - self._waiting[0][2] if self._waiting else 0.0
