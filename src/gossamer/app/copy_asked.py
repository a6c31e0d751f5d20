"""What a worker is asked for the copy of a kept page. Making it is `copy_job`'s, and loaded there alone."""

import msgspec

from gossamer.values.capture import Capture

JOB = "gossamer.app.copy_job:job"


class CopyJob(msgspec.Struct, frozen=True):
    capture: Capture
    marks: dict[str, tuple[str, str, str]] = {}
    """By the path of an element: the id it gets, where its mark leads, and what it says."""


class Copied(msgspec.Struct, frozen=True):
    html: bytes
    """Empty when it is no text."""
    media_type: str


answer = msgspec.msgpack.Decoder(Copied)
