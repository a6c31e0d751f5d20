"""The walls of a worker process: resource limits, no network, no writing, no processes of its own.

It runs inside the worker, where hostile bytes are parsed. What the kernel keeps (namespace, limits, `seccomp`) holds
whatever happens; the refusals in Python stop an honest library, not machine code that an attacker has taken over.
A barrier that cannot be put up is reported as missing (`barriers`), and the worker goes on.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
from pathlib import Path

from gossamer.base.clock import Clock
from gossamer.base.tuning import keep_one_arena, lower_priority
from gossamer.workers.limits import Limits

CLONE_NEWUSER = 0x10000000  # unshare(2)
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1  # prctl(2)
ADDRESS_SPACE, WRITABLE = 0, 5  # columns of /proc/PID/statm, proc(5)

REFUSED = frozenset(
    {
        "os.chflags",
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.putenv",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.spawn",
        "os.startfile",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "pty.spawn",
        "resource.prlimit",
        "signal.pthread_kill",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
        "subprocess.Popen",
    }
)
RENEWED_S = 1.0
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def leave_with_parent() -> None:
    """Die when the pool's process dies, even in the middle of a job. Linux only; elsewhere the channel's end does."""
    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(AttributeError):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def close_network() -> bool:
    """Move to a network namespace that has no way out; False where the kernel does not let us.

    REQUIRES: a process with one thread, which is what a fresh interpreter is.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        return any(libc.unshare(flags) == 0 for flags in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET))
    except AttributeError:  # not Linux
        return False


def limit_resources(limits: Limits) -> tuple[bool, bool]:
    """Whether memory, and whether files are limited now.

    REQUIRES: the job's libraries are loaded, since memory is counted from here."""
    keep_one_arena()
    if limits.niceness:
        lower_priority(limits.niceness)
    _lower(resource.RLIMIT_CORE, 0)
    has_files = _lower(resource.RLIMIT_NOFILE, limits.open_files) and _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    if limits.maps_files:
        return _lower(resource.RLIMIT_DATA, _taken(WRITABLE) + limits.memory_bytes), has_files
    return _lower(resource.RLIMIT_AS, _taken(ADDRESS_SPACE) + limits.memory_bytes), has_files


class CpuShare:
    """Gives each job its own share of CPU time; running over it ends the process (SIGXCPU)."""

    def __init__(self, cpu_s: float, clock: Clock) -> None:
        self._cpu_s, self._clock = cpu_s, clock
        self._enough_until_s = 0.0

    @property
    def holds(self) -> bool:
        """REQUIRES: `renew` was called."""
        return resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY

    def renew(self) -> None:
        """Before every job. To ask the kernel and to tell it costs as much as to hash a page: it is told of a second
        more, and not again before that has passed, for one thread cannot have used more in it."""
        now_s = self._clock.elapsed_s()
        if now_s < self._enough_until_s:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = math.ceil(used.ru_utime + used.ru_stime + self._cpu_s + RENEWED_S)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if hard == resource.RLIM_INFINITY or until <= hard:
            resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
        self._enough_until_s = now_s + RENEWED_S


def close_doors() -> bool:
    """From here on Python code in this process may not connect, write, delete or start anything."""
    sys.addaudithook(_refuse)
    return True


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in REFUSED:
        raise PermissionError(f"a worker may not use {event}")
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & WRITING and arguments[0] != os.devnull:
            raise PermissionError("a worker may not write files")


def _lower(what: int, value: int) -> bool:
    _, hard = resource.getrlimit(what)
    lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS knows some of them in name only
        resource.setrlimit(what, (lowered, lowered))
    return resource.getrlimit(what)[0] <= lowered


def _taken(what: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[what])
    except FileNotFoundError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()
