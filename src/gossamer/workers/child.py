"""The worker process, and its sandbox.

It is started as `python -m gossamer.workers.child module:function limits descriptor`.

It does jobs one after the other until the channel ends, and imports nothing but the job's module. Hostile bytes are
parsed here, so it has resource limits, no network, and may neither write nor start processes. What the kernel enforces
(namespace, limits, seccomp) always holds; the refusals in Python stop an honest library, not machine code that an
attacker has taken over. A barrier that cannot be set up is reported as missing (`Barriers`), and the worker continues.
"""

import contextlib
import ctypes
import errno
import importlib
import math
import os
import platform
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from gossamer.base.clock import Clock, SystemClock
from gossamer.base.tuning import collect_after, collect_between_jobs, keep_freed_memory, keep_one_arena, lower_priority
from gossamer.workers.protocol import Barriers, Limits, MessageKind, frame, received

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


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """End when the parent process dies, even during a job. Linux only; elsewhere the end of the channel ends it."""
    if (libc := _libc()) is not None:
        libc.prctl(PR_SET_PDEATHSIG, by, 0, 0, 0)


def close_network() -> bool:
    """Move to a network namespace without interfaces; False where the kernel does not allow it. REQUIRES: a process
    with one thread, as a fresh interpreter has."""
    libc = _libc()
    return libc is not None and any(libc.unshare(flags) == 0 for flags in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET))


def limit_resources(limits: Limits) -> tuple[bool, bool]:
    """Whether memory, and whether files are limited now.

    REQUIRES: the job's libraries are loaded, since memory is counted from here."""
    keep_one_arena()
    if limits.niceness:
        lower_priority(limits.niceness)
    _set_limit(resource.RLIMIT_CORE, 0)
    has_files = _set_limit(resource.RLIMIT_NOFILE, limits.open_files)
    has_files = _set_limit(resource.RLIMIT_FSIZE, limits.file_bytes) and has_files
    what, column = (resource.RLIMIT_DATA, WRITABLE) if limits.maps_files else (resource.RLIMIT_AS, ADDRESS_SPACE)
    return _set_limit(what, _in_use(column) + limits.memory_bytes), has_files


class CpuShare:
    """Limits the CPU time of each job; exceeding it ends the process (SIGXCPU)."""

    def __init__(self, cpu_s: float, clock: Clock) -> None:
        self._cpu_s, self._clock = cpu_s, clock
        self._enough_until_s = 0.0

    @property
    def holds(self) -> bool:
        """REQUIRES: `renew` was called."""
        return resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY

    def renew(self) -> None:
        """Before every job. These system calls cost as much as hashing a page: the limit is set to a second more, and
        not again before that has passed, since one thread cannot have used more in it."""
        now_s = self._clock.elapsed_s()
        if now_s < self._enough_until_s:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = math.ceil(used.ru_utime + used.ru_stime + self._cpu_s + RENEWED_S)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if hard == resource.RLIM_INFINITY or until <= hard:
            resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
        self._enough_until_s = now_s + RENEWED_S


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: Python code may not connect, write, delete or start anything."""
    if event in REFUSED:
        raise PermissionError(f"a worker may not use {event}")
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & WRITING and arguments[0] != os.devnull:
            raise PermissionError("a worker may not write files")


def _set_limit(what: int, value: int) -> bool:
    _, hard = resource.getrlimit(what)
    lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS has some of them without effect
        resource.setrlimit(what, (lowered, lowered))
    return resource.getrlimit(what)[0] <= lowered


def _in_use(what: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[what])
    except FileNotFoundError:  # not Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()


PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22  # prctl(2)
MODE_FILTER = 2
CLONE_THREAD = 0x00010000
X32_BIT = 0x40000000

LOAD, JUMP_EQ, JUMP_GE, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
ALLOW, ERROR = 0x7FFF0000, 0x00050000  # linux/seccomp.h
NUMBER_AT, ARCH_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # struct seccomp_data; its first argument's low half, little endian

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


class Abi(NamedTuple):
    audit: int
    """AUDIT_ARCH_*: the kind of system call."""
    refused: tuple[int, ...]
    clone: int
    clone3: int


_SINCE_424 = (424, 425, 426, 427, 428, 429, 430, 432, 433, 434, 438, 440, 442)
"""The same on every architecture: pidfd_send_signal, io_uring_*, open_tree, move_mount, fs*, pidfd_*, process_madvise,
mount_setattr."""

X86_64 = Abi(
    audit=0xC000003E,
    clone=56,
    clone3=435,
    refused=(
        # socket connect accept bind listen sendmmsg accept4; fork vfork execve execveat
        *(41, 42, 43, 49, 50, 288, 307, 57, 58, 59, 322),
        # ptrace process_vm_readv process_vm_writev kcmp kill tkill
        *(101, 310, 311, 312, 62, 200),
        # mount umount2 pivot_root chroot unshare setns swapon swapoff reboot quotactl acct
        *(165, 166, 155, 161, 272, 308, 167, 168, 169, 179, 163),
        # open_by_handle_at name_to_handle_at bpf perf_event_open userfaultfd memfd_secret fanotify_init
        *(304, 303, 321, 298, 323, 447, 300),
        # add_key request_key keyctl; init_module finit_module delete_module kexec_load kexec_file_load
        *(248, 249, 250, 175, 313, 176, 246, 320),
        # io_uring is 425-427; clock_settime settimeofday adjtimex clock_adjtime sethostname setdomainname syslog
        *(227, 164, 159, 305, 170, 171, 103),
        # iopl ioperm modify_ldt uselib personality, setuid-like calls, lookup_dcookie
        *(172, 173, 154, 134, 135, 105, 106, 113, 114, 117, 119, 116, 212),
        *_SINCE_424,
    ),
)
AARCH64 = Abi(
    audit=0xC00000B7,
    clone=220,
    clone3=435,
    refused=(
        # socket bind listen accept connect sendmmsg accept4; execve execveat
        *(198, 200, 201, 202, 203, 269, 242, 221, 281),
        # ptrace process_vm_readv process_vm_writev kcmp kill tkill
        *(117, 270, 271, 272, 129, 130),
        # mount umount2 pivot_root chroot unshare setns swapon swapoff reboot quotactl acct
        *(40, 39, 41, 51, 97, 268, 224, 225, 142, 60, 89),
        # open_by_handle_at name_to_handle_at bpf perf_event_open userfaultfd memfd_secret fanotify_init
        *(265, 264, 280, 241, 282, 447, 262),
        # add_key request_key keyctl; init_module finit_module delete_module kexec_load kexec_file_load
        *(217, 218, 219, 105, 273, 106, 104, 294),
        # clock_settime settimeofday adjtimex clock_adjtime sethostname setdomainname syslog
        *(112, 170, 171, 266, 161, 162, 116),
        # personality, setuid-like calls, lookup_dcookie
        *(92, 146, 144, 145, 143, 147, 149, 159, 18),
        *_SINCE_424,
    ),
)
ABIS = {"x86_64": X86_64, "aarch64": AARCH64}


def program(abi: Abi) -> list[Instruction]:
    """The filter. Jumps are relative and at most 255, so each refusal returns where it is found."""
    refusal = ERROR | errno.EPERM
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (JUMP_EQ, 1, 0, abi.audit),
        (RETURN, 0, 0, refusal),  # 32-bit calls have other numbers, which are not in this filter
        (LOAD, 0, 0, NUMBER_AT),
    ]
    if abi is X86_64:
        code += [(JUMP_GE, 0, 1, X32_BIT), (RETURN, 0, 0, refusal)]
    for number in abi.refused:
        code += [(JUMP_EQ, 0, 1, number), (RETURN, 0, 0, refusal)]
    code += [
        (JUMP_EQ, 0, 1, abi.clone3),
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
        (JUMP_EQ, 0, 3, abi.clone),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        (JUMP_ANY_BIT, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, refusal),
        (RETURN, 0, 0, ALLOW),
    ]
    return code


def forbid_new_privileges() -> bool:
    """No program started from now on gains rights (setuid). The kernel requires this before a filter."""
    libc = _libc()
    return libc is not None and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def install() -> bool:
    """Put the filter on this thread and all that it starts; False if there is none here or the kernel refuses it.

    REQUIRES: `forbid_new_privileges()`, and one thread."""
    libc, abi = _libc(), ABIS.get(platform.machine())
    if libc is None or abi is None or sys.byteorder != "little":
        return False
    code = b"".join(struct.pack("=HBBI", *one) for one in program(abi))
    buffer = ctypes.create_string_buffer(code, len(code))
    head = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(head), 0, 0) == 0)


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


LONGEST_MESSAGE = 2_000


def main(job_name: str, limits_json: str, descriptor: str) -> None:
    limits = msgspec.json.decode(limits_json, type=Limits)
    channel = socket.socket(fileno=int(descriptor))
    channel.set_inheritable(False)
    os.dup2(2, 1)  # what a library prints is not an answer
    die_with_parent()
    has_network = close_network()
    keep_freed_memory()
    job: Callable[[bytes], bytes] | None = _named(job_name)
    collect_between_jobs()
    if limits.is_silent:
        _discard_output()
    share = CpuShare(limits.cpu_s, SystemClock())
    share.renew()
    has_memory, has_files = limit_resources(limits)
    is_limited = forbid_new_privileges()
    held = Barriers(
        network=has_network,
        seccomp=is_limited and install(),
        no_new_privileges=is_limited,
        memory=has_memory,
        cpu=share.holds,
        files=has_files,
        audit=True,
    )
    sys.addaudithook(_refuse)
    if limits.needs_closed_network and not held.is_network_closed:
        job = None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError), channel:
        channel.sendall(frame(MessageKind.READY, msgspec.json.encode(held)))
        jobs = cast(BinaryIO, channel.makefile("rb", buffering=1 << 18))
        _serve(job, jobs, channel, share)


def _discard_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _serve(job: Callable[[bytes], bytes] | None, jobs: BinaryIO, channel: socket.socket, share: CpuShare) -> None:
    """`job` None: every request is refused, because the sandbox is not safe enough."""
    done, clock = 0, SystemClock()
    while (payload := received(jobs)) is not None:
        share.renew()
        began_s = clock.cpu_s()
        kind, body = (MessageKind.UNGUARDED, b"") if job is None else _answer(job, payload)
        del payload
        channel.sendall(frame(kind, body, clock.cpu_s() - began_s))
        del body
        done += 1
        collect_after(done)


def _answer(job: Callable[[bytes], bytes], payload: bytes) -> tuple[MessageKind, bytes]:
    """An exception of the job is an answer too, not the worker's end."""
    try:
        answer = job(payload)
        if not isinstance(answer, bytes):
            raise TypeError(f"a job answers with bytes, not {type(answer).__name__}")
    except MemoryError:
        return MessageKind.NO_MEMORY, b""
    except Exception as trouble:  # noqa: BLE001 - a plug-in may raise anything
        message = f"{type(trouble).__name__}: {trouble}"
        return MessageKind.RAISED, message[:LONGEST_MESSAGE].encode("utf-8", "replace")
    return MessageKind.ANSWER, answer


def _named(job_name: str) -> Callable[[bytes], bytes]:
    job_name, space, argument = job_name.partition(" ")
    module, _, path = job_name.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{job_name} is not a function")
    if space:
        found = found(argument)  # it makes the job
    job: Callable[[bytes], bytes] = found
    return job


if __name__ == "__main__":
    main(*sys.argv[1:])
