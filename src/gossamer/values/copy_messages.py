"""What a worker is asked for the copy of a kept page. Making it is `copy_job`'s, and loaded there alone."""

import msgspec

from gossamer.values.capture import Capture

JOB = "gossamer.reader.copy:job"


class CopyJob(msgspec.Struct, frozen=True):
    capture: Capture
    marks: dict[str, tuple[str, str, str]] = {}
    """By the path of an element: the id it gets, where its mark leads, and what it says."""
    agent: str = ""
    """Our name: what the page asks of robots by that name concerns us."""


class Copied(msgspec.Struct, frozen=True):
    html: bytes
    """Empty when it is no text."""
    media_type: str
    may_show: bool = True
    """False: the page, or its headers, ask not to show a copy."""


answer = msgspec.msgpack.Decoder(Copied)
