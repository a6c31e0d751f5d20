"""Events: rooms report what happened to the `Tell` they were given; each command decides who listens."""

import os
import signal
from collections.abc import Callable
from typing import Protocol

from gossamer.base.errors import ConfigError


class Tell(Protocol):
    """`tell("volume.opened", volume="...")`: an event name, noun first, and fields.

    Durable steps are reported right after they are done: the crash tests use these events as their crash points.
    """

    def __call__(self, event: str, /, **facts: object) -> None: ...


def silent(event: str, /, **facts: object) -> None:
    """A Tell that ignores everything."""


Says = Callable[[str], None]
"""Reports progress, in words for people."""


def unheard(words: str) -> None:
    """Ignores the progress."""


CRASH_VARIABLE = "GOSSAMER_CRASH_AT"
CRASH_POINTS = (
    "frontier.taken", "archive.appended", "archive.synced", "spool.appended", "frontier.settled", "frontier.merged",
    "links.committed", "graph.committed", "index.committed", "views.positioned", "checkpoint.renamed",
)  # fmt: skip
REBUILD_POINTS = ("rebuild.begun", "rebuild.built", "rebuild.swapped", "rebuild.removed")
"""Crash points of `gossamer rebuild`, in addition to those of the views it writes."""
SEGMENT_POINTS = ("segment.stored", "segment.added")
"""Crash points of a crawl on a cluster, in place of those of the archive and the spool."""
STATE_POINT = "state.progress"
"""Crash point of `gossamer rebuild --state`."""


def crashing(tell: Tell, at: str | None) -> Tell:
    """A Tell that kills this process at the k-th report of an event; `at` is "event:k". For the crash tests only."""
    if not at:
        return tell
    event, _, count = at.partition(":")
    known = (*CRASH_POINTS, *SEGMENT_POINTS, *REBUILD_POINTS, STATE_POINT)
    if event not in known or not count.isdigit():
        raise ConfigError(f"{CRASH_VARIABLE} must be one of {', '.join(known)}, a colon and a number")
    left = int(count)

    def tell_or_die(name: str, /, **facts: object) -> None:
        nonlocal left
        tell(name, **facts)
        if name == event:
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return tell_or_die
