"""What the monitor's pages are given."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gossamer.base.clock import Instant
from gossamer.monitor.chronicle import Chronicle
from gossamer.monitor.control import Sample
from gossamer.monitor.system import System


@dataclass(slots=True)
class Ending:
    """Whether the server has been asked to stop; told by whoever runs it, heard by every stream without an end."""

    is_near: Callable[[], bool] = lambda: False


def nobody() -> System:
    return System(0, "at rest")


def nothing(since_at: Instant) -> list[Sample]:
    del since_at
    return []


def unheard(streams: int) -> None:
    del streams


@dataclass(frozen=True, slots=True)
class MonitorRooms:
    system: Callable[[], System] = nobody
    """Everything as it stands now; it reads databases, so on a thread."""
    history: Callable[[Instant], list[Sample]] = nothing
    """Second by second, since then; at most an hour."""
    watched: Callable[[int], None] = unheard
    """Told how many watch live."""
    ending: Ending = field(default_factory=Ending)
    chronicle: Callable[[], Chronicle] = Chronicle
    """How the collection fared; it reads a file, so on a thread."""
