"""What a worker may use up before it is stopped."""

import msgspec

MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    wall_s: float = 5.0
    """Per job, counted from the moment it is the worker's first in line."""
    cpu_s: float = 5.0
    """Per job; the kernel counts whole seconds and is told once a second, so up to two more may pass."""
    memory_bytes: int = 512 * MIB
    """Address space on top of what the loaded libraries take."""
    recycle_after: int = 10_000
    """Jobs after which a worker is replaced by a fresh one, so that slow leaks stay small."""
    open_files: int = 64
    file_bytes: int = MIB
    """The largest file a worker's libraries may write; its own code may write none."""
    answer_bytes: int = 64 * MIB
    ahead: int = 1
    """Jobs handed to a busy worker in advance, so that it never idles between two. 0 where jobs are long."""
    spare: int = 0
    """Workers that are started beside the others once all of those are held by jobs that take long. One is then kept
    for jobs that are likely to be cheap."""
    niceness: int = 0
    """How far it stands back behind others when the CPUs are busy; as of nice(2)."""
    is_silent: bool = False
    """What its libraries print is thrown away: where running out of memory is a matter of course, they say so at
    length before they end the process, and whoever asked is told anyway."""
    needs_closed_network: bool = False
    """Its jobs could be made to dial: without a barrier that the kernel keeps they are refused."""
    maps_files: bool = False
    """It reads large files by mapping them, which is no memory of its own: then only what it may write to is counted
    against `memory_bytes`."""
