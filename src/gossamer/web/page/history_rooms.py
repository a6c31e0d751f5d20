"""What the time line of a page asks for: its captures read again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gossamer.archive.versions import Timeline
from gossamer.base.errors import GossamerError
from gossamer.values.capture import Kept
from gossamer.values.messages import Difference
from gossamer.values.url import Url


async def no_timeline(url: Url, _most: int) -> Timeline:
    return Timeline(url.text, [])


async def no_difference(_before: Kept, _after: Kept) -> Difference:
    raise GossamerError("there is nobody here who could compare them")


@dataclass(frozen=True, slots=True)
class HistoryRooms:
    timeline: Callable[[Url, int], Awaitable[Timeline]] = no_timeline
    """The newest so many versions, and how each differs from the one before."""
    difference: Callable[[Kept, Kept], Awaitable[Difference]] = no_difference
    """Raises GossamerError, in words for a person, when two versions cannot be compared."""
