"""Frames on the channel between the pool and a worker: length, kind and cost in microseconds of CPU, then the body."""

import struct
from enum import IntEnum
from typing import BinaryIO

HEADER = struct.Struct(">IBI")
MOST_COST = (1 << 32) - 1


class MessageKind(IntEnum):
    JOB = 0
    READY = 1
    """The body says which barriers hold: `Barriers`, as JSON."""
    ANSWER = 2
    RAISED = 3
    """The job raised; the body is the exception's type and message."""
    NO_MEMORY = 4
    UNGUARDED = 5
    """The job needs a closed network, and this worker could not close it."""


def header(kind: MessageKind, length: int, cpu_s: float = 0.0) -> bytes:
    return HEADER.pack(length, kind, min(round(cpu_s * 1e6), MOST_COST))


def frame(kind: MessageKind, body: bytes, cpu_s: float = 0.0) -> bytes:
    return header(kind, len(body), cpu_s) + body


def received(stream: BinaryIO) -> bytes | None:
    """The body of the next message; None when the other side is gone."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, _, _ = HEADER.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None
