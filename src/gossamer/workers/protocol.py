"""What pool and worker send each other, the limits of a worker, and the barriers of its sandbox.

A frame is the length, kind and cost in microseconds of CPU, then the body.
"""

import struct
from enum import IntEnum
from typing import BinaryIO

import msgspec

HEADER = struct.Struct(">IBI")
MOST_COST = (1 << 32) - 1


class MessageKind(IntEnum):
    JOB = 0
    READY = 1
    """The body has the barriers that hold: `Barriers`, as JSON."""
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
    """The body of the next message; None when the other side has closed the channel."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    length, _, _ = HEADER.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    wall_s: float = 5.0
    """Per job, from the moment it is the worker's first."""
    cpu_s: float = 5.0
    """Per job; the limit is in whole seconds and set once a second, so a job may get up to two more."""
    memory_bytes: int = 512 * MIB
    """Address space beyond that of the loaded libraries."""
    recycle_after: int = 10_000
    """Jobs after which a worker is replaced, so that slow leaks stay small."""
    open_files: int = 64
    file_bytes: int = MIB
    """The largest file a worker's libraries may write; its own code may write none."""
    answer_bytes: int = 64 * MIB
    ahead: int = 1
    """Jobs given to a busy worker in advance, so that it never idles between two. 0 where jobs are long."""
    spare: int = 0
    """Additional workers, started once all others have jobs that take long. One is then reserved for jobs that are
    likely to be cheap."""
    niceness: int = 0
    """As of nice(2)."""
    is_silent: bool = False
    """Discard what its libraries print: they report running out of memory at length, and the caller gets that error
    anyway."""
    needs_closed_network: bool = False
    """Its jobs could be tricked into connecting: without a barrier that the kernel enforces they are refused."""
    maps_files: bool = False
    """It maps large files, which uses no memory of its own: only writable memory counts against `memory_bytes`."""


MEANINGS = {
    "network": "no network namespace of its own",
    "seccomp": "no seccomp filter",
    "no_new_privileges": "setuid programs could raise its rights",
    "memory": "memory is not limited",
    "cpu": "CPU time is not limited",
    "files": "open files and file size are not limited",
    "audit": "Python code may write and connect",
}
"""What the absence of each barrier means. The order determines the bits of `missing_bits`."""


class Barriers(msgspec.Struct, frozen=True):
    network: bool = False
    """A network namespace without any interface."""
    seccomp: bool = False
    """A filter that refuses sockets, programs and processes."""
    no_new_privileges: bool = False
    memory: bool = False
    cpu: bool = False
    files: bool = False
    audit: bool = False
    """Python's audit hook: it stops an honest library, not machine code."""

    @property
    def is_network_closed(self) -> bool:
        """Either of the two barriers prevents connections."""
        return self.network or self.seccomp

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(name for name in MEANINGS if not getattr(self, name))

    @property
    def missing_bits(self) -> int:
        """As one number, for a heartbeat."""
        return sum(1 << place for place, name in enumerate(MEANINGS) if not getattr(self, name))


def from_bits(missing: int) -> Barriers:
    return Barriers(**{name: not missing >> place & 1 for place, name in enumerate(MEANINGS)})


def weakest(every: list[Barriers]) -> Barriers:
    """The barriers that all of them have. REQUIRES: at least one."""
    return Barriers(**{name: all(getattr(one, name) for one in every) for name in MEANINGS})


def in_words(held: Barriers) -> str:
    """One line for people."""
    parts = [
        "network closed" if held.is_network_closed else "network OPEN",
        "memory and CPU limited" if held.memory and held.cpu else "memory or CPU NOT limited",
        "seccomp on" if held.seccomp else "seccomp OFF",
    ]
    if rest := [name for name in held.missing if name not in ("memory", "cpu", "seccomp")]:
        parts.append("missing: " + ", ".join(f"{name.replace('_', ' ')} ({MEANINGS[name]})" for name in rest))
    return ", ".join(parts)


def echo(payload: bytes) -> bytes:
    """A job for a worker that is only started to find out which barriers it can set up."""
    return payload
