"""A process with its own seccomp filter, like that of a strict container; then a worker inside it."""

import asyncio
import ctypes
import errno
import platform
import struct
import sys

from tests.workers import jobs

from gossamer.base.clock import SystemClock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.workers import child as seccomp
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Limits

NUMBERS = {"x86_64": (272, 157), "aarch64": (97, 167)}
"""unshare, prctl."""


def refuse(what: list[str]) -> None:
    unshare, prctl = NUMBERS[platform.machine()]
    refusal = seccomp.ERROR | errno.EPERM
    code = [(seccomp.LOAD, 0, 0, seccomp.NUMBER_AT), (seccomp.JUMP_EQ, 0, 1, unshare), (seccomp.RETURN, 0, 0, refusal)]
    if "seccomp" in what:
        code += [
            (seccomp.JUMP_EQ, 0, 3, prctl),
            (seccomp.LOAD, 0, 0, seccomp.FIRST_ARGUMENT_AT),
            (seccomp.JUMP_EQ, 0, 1, seccomp.PR_SET_SECCOMP),
            (seccomp.RETURN, 0, 0, refusal),
        ]
    code.append((seccomp.RETURN, 0, 0, seccomp.ALLOW))
    assert seccomp.forbid_new_privileges()
    text = b"".join(struct.pack("=HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    head = seccomp._Program(len(code), ctypes.cast(buffer, ctypes.c_void_p))
    assert ctypes.CDLL(None).prctl(seccomp.PR_SET_SECCOMP, seccomp.MODE_FILTER, ctypes.byref(head), 0, 0) == 0


async def barriers_and_answer(limits: Limits) -> tuple[str, str]:
    async with Pool(jobs.echo, 1, limits, SystemProcesses(), SystemClock(), silent) as pool:
        try:
            answer = (await pool.call(b"done")).decode()
        except WorkerLost as lost:
            answer = lost.why
        assert pool.barriers is not None
        return " ".join(pool.barriers.missing), answer


def main() -> None:
    refuse(sys.argv[1:])
    missing, plain = asyncio.run(barriers_and_answer(Limits(wall_s=120.0)))
    _, guarded = asyncio.run(barriers_and_answer(Limits(wall_s=120.0, needs_closed_network=True)))
    print(missing, plain, guarded, sep="\n")
