"""The only place that starts, signals and waits for processes."""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gossamer.base.clock import SystemClock

MOST_TOLD = 20
"""Times that the kernel is told how far to stand back, where many processes begin at once."""


class Child(Protocol):
    """A process we started, in a session and process group of its own."""

    @property
    def pid(self) -> int: ...

    def exit_code(self) -> int | None:
        """None while it lives; negative when a signal ended it."""
        ...

    def ask_to_stop(self) -> None:
        """SIGTERM to it alone."""
        ...

    def kill(self) -> None:
        """SIGKILL to its whole group, and reap it. Nothing when it was reaped before: its id may be a stranger's."""
        ...

    def wait(self, at_most_s: float) -> int | None: ...


class Processes(Protocol):
    """Real ones: `SystemProcesses` here; the crash harness wraps it to know every child."""

    def start(self, module: str, arguments: Sequence[str], channel: socket.socket | None = None) -> Child:
        """`python -m module arguments`; `channel` is inherited and its descriptor number appended to the arguments."""
        ...

    def own_pid(self) -> int: ...

    def is_alive(self, pid: int) -> bool: ...

    def stand_back(self, beginnings: Sequence[str], niceness: int) -> int:
        """Those of our own threads whose names begin so let others go first, as of nice(2). How many they are."""
        ...


M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h


def keep_freed_memory(most: int = 64 << 20) -> None:
    """Tell glibc not to hand memory back to the kernel after every page: it is wanted again for the next one.

    Pieces larger than `most` bytes are handed back at once, and leave no holes: less of it is for a process through
    which large bodies pass.

    A page's tree is some hundred kilobytes that come and go; giving them back and faulting them in again was a tenth
    of a reader's time. Elsewhere than on glibc this does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, most)
        mallopt(M_TRIM_THRESHOLD, 2 * most)
        mallopt(M_TOP_PAD, 16 << 20)


MOST_OPEN_FILES = 65_536


def allow_open_files() -> None:
    """Raise the soft limit on open files as far as this process may: each visit under way is a socket."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def let_others_go_first(niceness: int) -> None:
    """This process, what it starts from now on included, stands back behind whoever answers people. By `nice` alone it
    would get less of the CPU, but still take it from somebody else in mid-answer each time it has slept; as a batch job
    (sched(7)) it waits for its turn then."""
    os.nice(niceness)
    with contextlib.suppress(AttributeError, OSError):  # Linux only
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    let_other_sessions_go_first()


def let_other_sessions_go_first() -> None:
    """Where Linux shares out the CPUs by session (autogroup, sched(7)), as most distributions have it, a niceness
    counts only among the processes of one session, and each process started here has its own: then the whole session
    stands back, as far as this process does."""
    if os.getsid(0) != os.getpid():  # somebody else's: his shell would be slowed too
        return
    for _ in range(MOST_TOLD):
        try:
            Path("/proc/self/autogroup").write_text(str(max(0, os.nice(0))))
        except BlockingIOError:  # the kernel hears one such word in a tenth of a second
            SystemClock().pause(0.11)
        except OSError:  # nothing is shared out by session here
            return
        else:
            return


class _SystemChild:
    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen

    @property
    def pid(self) -> int:
        return self._popen.pid

    def exit_code(self) -> int | None:
        return self._popen.poll()

    def ask_to_stop(self) -> None:
        if self._popen.poll() is None:
            self._popen.terminate()

    def kill(self) -> None:
        if self._popen.returncode is None:  # not reaped: until then no other process gets its id
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()

    def wait(self, at_most_s: float) -> int | None:
        try:
            return self._popen.wait(at_most_s)
        except subprocess.TimeoutExpired:
            return None


class SystemProcesses:
    def start(self, module: str, arguments: Sequence[str], channel: socket.socket | None = None) -> Child:
        # -P: the working directory may be a collection received from somebody else; no module is imported from there.
        command = [sys.executable, "-P", "-m", module, *arguments]
        inherited: tuple[int, ...] = ()
        if channel is not None:
            inherited = (channel.fileno(),)
            command.append(str(channel.fileno()))
        return _SystemChild(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=inherited, start_new_session=True)
        )

    def own_pid(self) -> int:
        return os.getpid()

    def is_alive(self, pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def stand_back(self, beginnings: Sequence[str], niceness: int) -> int:
        """Linux knows the niceness of a thread; elsewhere it is the whole process's, and nothing is done."""
        found = [one for one in _own_threads() if one[1].startswith(tuple(beginnings))]
        for thread, _ in found:
            with contextlib.suppress(ProcessLookupError):
                if os.getpriority(os.PRIO_PROCESS, thread) < niceness:  # never less than it does already
                    os.setpriority(os.PRIO_PROCESS, thread, niceness)
        return len(found)


def _own_threads() -> list[tuple[int, str]]:
    """Their ids and names; none where nobody can say."""
    found = list[tuple[int, str]]()
    for name in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found.append((int(name.parent.name), name.read_text().strip()))
    return found
