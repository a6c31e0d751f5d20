"""Frames on the channel between the pool and a worker: length and kind, then the body."""

import struct
from enum import IntEnum
from typing import BinaryIO

HEADER = struct.Struct(">IB")


class Kind(IntEnum):
    JOB = 0
    READY = 1
    ANSWER = 2
    RAISED = 3
    """The job raised; the body is the exception's type and message."""
    NO_MEMORY = 4


def frame(kind: Kind, body: bytes) -> bytes:
    return HEADER.pack(len(body), kind) + body


def received(stream: BinaryIO) -> bytes | None:
    """The body of the next message; None when the other side is gone."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, _ = HEADER.unpack(header)
    body = stream.read(length)
    return body if len(body) == length else None
