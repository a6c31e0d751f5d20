"""Jobs that the tests give to worker processes, well-behaved and not."""

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


def echo(payload: bytes) -> bytes:
    return payload


def obey(payload: bytes) -> bytes:
    """Do what the payload says: `word` or `word:argument`."""
    word, _, argument = payload.decode().partition(":")
    return _DEEDS[word](argument)


def big(payload: bytes) -> bytes:
    return b"x" * int(payload)


def _spin(argument: str) -> bytes:
    while True:
        pass


def _burn(argument: str) -> bytes:
    until = time.process_time() + float(argument)
    while time.process_time() < until:
        pass
    return b"burnt"


def _sleep(argument: str) -> bytes:
    time.sleep(float(argument))
    return b"slept"


def _segfault(argument: str) -> bytes:
    return ctypes.string_at(0)


def _exit(argument: str) -> bytes:
    os._exit(int(argument))


def _hog(argument: str) -> bytes:
    return b"%d" % len([bytes(1 << 20) for _ in range(100_000)])


def _raise(argument: str) -> bytes:
    raise ValueError(argument)


def _fork(argument: str) -> bytes:
    while True:
        os.fork()


def _native_fork(argument: str) -> bytes:
    """Past Python's refusals: child processes that hold the channel open and sleep."""
    for _ in range(3):
        if ctypes.CDLL(None).fork() == 0:
            time.sleep(60)
    return b"forked"


def _connect(argument: str) -> bytes:
    socket.create_connection(("127.0.0.1", int(argument)), timeout=1)
    return b"connected"


def _native_connect(argument: str) -> bytes:
    """connect(2) through libc: what a library in C does."""
    family, port = socket.AF_INET, int(argument)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.socket(int(family), 1, 0)
    address = int(family).to_bytes(2, sys.byteorder) + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    return b"connected" if libc.connect(fd, address, len(address)) == 0 else b"refused"


def _write(argument: str) -> bytes:
    Path(argument).write_text("no")
    return b"written"


def _run(argument: str) -> bytes:
    subprocess.run(["true"], check=True)
    return b"ran"


_DEEDS = {
    "spin": _spin,
    "burn": _burn,
    "sleep": _sleep,
    "segfault": _segfault,
    "exit": _exit,
    "hog": _hog,
    "raise": _raise,
    "fork": _fork,
    "native-fork": _native_fork,
    "connect": _connect,
    "native-connect": _native_connect,
    "write": _write,
    "run": _run,
    "echo": str.encode,
    "pid": lambda argument: str(os.getpid()).encode(),
    "text": lambda argument: "not bytes",
}


_payloads: list[bytes] = []


def remember(payload: bytes) -> bytes:
    """Each worker stores its payloads: for `?` it returns its process id and how many it has stored."""
    if payload != b"?":
        _payloads.append(payload)
        return b""
    time.sleep(0.05)  # so that the next caller finds this one busy
    return b"%d %d" % (os.getpid(), len(_payloads))


def raw(payload: bytes) -> bytes:
    """A system call by number and arguments; its errno, or 0. `thread` starts one."""
    if payload == b"thread":
        found: list[bytes] = []
        thread = threading.Thread(target=lambda: found.append(b"ran"))
        thread.start()
        thread.join()
        return found[0]
    numbers = [ctypes.c_long(int(one)) for one in payload.split()]
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    return b"%d" % (ctypes.get_errno() if libc.syscall(*numbers) == -1 else 0)
