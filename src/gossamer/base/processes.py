"""Child processes: the only place that starts, signals and waits for them."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol


class Child(Protocol):
    """A process we started, in a session and process group of its own."""

    @property
    def pid(self) -> int: ...

    def exit_code(self) -> int | None:
        """None while it lives; negative when a signal ended it."""

    def ask_to_stop(self) -> None:
        """SIGTERM to it alone."""

    def kill(self) -> None:
        """SIGKILL to its whole group, and reap it. Does nothing once reaped: its id may belong to another process."""

    def wait(self, at_most_s: float) -> int | None: ...


class Processes(Protocol):
    """Real ones: `SystemProcesses` here; the crash harness wraps it to know every child."""

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        channel: socket.socket | None = None,
        output: int | None = None,
        python: str = "",
    ) -> Child:
        """`python -m module arguments`; `channel` is inherited and its descriptor number appended to the arguments.
        `output`: the descriptor for all that it prints; None: where our own output goes. `python`: another interpreter
        than our own."""

    def become(self, python: str, module: str, arguments: Sequence[str]) -> NoReturn:
        """Continue as `python -m module arguments`, under our process id. REQUIRES: nothing is left to be closed."""

    def own_pid(self) -> int: ...

    def is_alive(self, pid: int) -> bool: ...

    def lower_thread_priority(self, beginnings: Sequence[str], niceness: int) -> int:
        """Set the niceness of our own threads whose names begin like this; returns how many they are."""


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
    def start(
        self,
        module: str,
        arguments: Sequence[str],
        channel: socket.socket | None = None,
        output: int | None = None,
        python: str = "",
    ) -> Child:
        command = _python_command(python or sys.executable, module, arguments)
        inherited: tuple[int, ...] = ()
        if channel is not None:
            inherited = (channel.fileno(),)
            command.append(str(channel.fileno()))
        return _SystemChild(
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=inherited,
                start_new_session=True,
            )
        )

    def become(self, python: str, module: str, arguments: Sequence[str]) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(python, _python_command(python, module, arguments))

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

    def lower_thread_priority(self, beginnings: Sequence[str], niceness: int) -> int:
        """Linux only: elsewhere niceness belongs to the whole process, and nothing is done."""
        found = [one for one in _own_threads() if one[1].startswith(tuple(beginnings))]
        for thread, _ in found:
            with contextlib.suppress(ProcessLookupError):
                if os.getpriority(os.PRIO_PROCESS, thread) < niceness:  # never raise a priority
                    os.setpriority(os.PRIO_PROCESS, thread, niceness)
        return len(found)


def _python_command(python: str, module: str, arguments: Sequence[str]) -> list[str]:
    """-P: the working directory may be a collection from an untrusted source; no module is imported from there."""
    return [python, "-P", "-m", module, *arguments]


def _own_threads() -> list[tuple[int, str]]:
    """Their ids and names; empty where /proc is missing."""
    found = list[tuple[int, str]]()
    for name in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found.append((int(name.parent.name), name.read_text().strip()))
    return found


def hide_in_command_line(argument: str, secret: str) -> None:
    """Overwrite a secret, part of one of our arguments, in the command line that every user of the machine can read.
    Linux only; until then it could be read."""
    shown, secret_at = Path("/proc/self/cmdline"), argument.find(secret)
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, size = int(fields[ARGUMENTS_START]), int(fields[ARGUMENTS_START + 1]) - int(fields[ARGUMENTS_START])
        at = shown.read_bytes().find(argument.encode())
    except (OSError, ValueError, IndexError):
        return
    length = len(secret.encode())
    offset = at + len(argument[:secret_at].encode())
    if at >= 0 and secret_at >= 0 and start and offset + length <= size:
        ctypes.memset(start + offset, ord("*"), length)


ARGUMENTS_START = 45
"""`arg_start` among the fields of /proc/PID/stat that follow the name (proc_pid_stat(5))."""
