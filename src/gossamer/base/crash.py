"""Rehearsed crashes: a Tell that ends the process at a chosen event. Only the crash harness asks for it."""

import os
import signal

from gossamer.base.errors import ConfigError
from gossamer.base.tell import Tell

VARIABLE = "GOSSAMER_CRASH_AT"
CRASH_POINTS = (
    "frontier.taken",
    "archive.appended",
    "archive.synced",
    "spool.appended",
    "frontier.settled",
    "frontier.merged",
    "links.committed",
    "graph.committed",
    "index.committed",
    "views.positioned",
    "checkpoint.renamed",
)
REBUILD_POINTS = ("rebuild.begun", "rebuild.built", "rebuild.swapped", "rebuild.removed")
"""Those of `gossamer rebuild`, beside the ones of the views it makes."""
STATE_POINT = "state.progress"
"""Of `gossamer rebuild --state`."""


def crashing(tell: Tell, at: str | None) -> Tell:
    """`at` is "event:k": the k-th telling of that event is the last thing this process does."""
    if not at:
        return tell
    event, _, count = at.partition(":")
    known = (*CRASH_POINTS, *REBUILD_POINTS, STATE_POINT)
    if event not in known or not count.isdigit():
        raise ConfigError(f"{VARIABLE} must be one of {', '.join(known)}, a colon and a number")
    left = int(count)

    def tell_or_die(told: str, /, **facts: object) -> None:
        nonlocal left
        tell(told, **facts)
        if told == event:
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return tell_or_die
