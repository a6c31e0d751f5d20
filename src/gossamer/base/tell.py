"""Rooms say what happened through the `Tell` they were given; the command that starts a process decides who listens."""

from typing import Protocol


class Tell(Protocol):
    """`tell("volume.opened", volume="...")`: an event name, noun first, and fields.

    Durable steps are told right after they are done; the crash harness uses these events as its crash points.
    """

    def __call__(self, event: str, /, **facts: object) -> None: ...


def silent(event: str, /, **facts: object) -> None:
    """A Tell for when nobody listens."""
