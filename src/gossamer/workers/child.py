"""The worker process: `python -m gossamer.workers.child module:function limits descriptor`.

It answers jobs one after the other until the channel ends, and it imports nothing but the job's module.
"""

import contextlib
import importlib
import os
import socket
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, cast

import msgspec

from gossamer.base.clock import SystemClock
from gossamer.base.tuning import collect_after, collect_between_jobs, keep_freed_memory
from gossamer.workers import sandbox
from gossamer.workers import sandbox as seccomp
from gossamer.workers.protocol import Barriers, Limits, MessageKind, frame, received

MANY_WORDS = 2_000


def main(job_name: str, limits_json: str, descriptor: str) -> None:
    limits = msgspec.json.decode(limits_json, type=Limits)
    channel = socket.socket(fileno=int(descriptor))
    channel.set_inheritable(False)
    os.dup2(2, 1)  # what a library prints is not an answer to anything
    sandbox.leave_with_parent()
    has_network = sandbox.close_network()
    keep_freed_memory()
    job: Callable[[bytes], bytes] | None = _named(job_name)
    collect_between_jobs()
    if limits.is_silent:
        _fall_silent()
    share = sandbox.CpuShare(limits.cpu_s, SystemClock())
    share.renew()
    has_memory, has_files = sandbox.limit_resources(limits)
    is_limited = seccomp.forbid_new_privileges()
    held = Barriers(
        network=has_network,
        seccomp=is_limited and seccomp.install(),
        no_new_privileges=is_limited,
        memory=has_memory,
        cpu=share.holds,
        files=has_files,
        audit=sandbox.close_doors(),
    )
    if limits.needs_closed_network and not held.is_network_closed:
        job = None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError), channel:
        channel.sendall(frame(MessageKind.READY, msgspec.json.encode(held)))
        jobs = cast(BinaryIO, channel.makefile("rb", buffering=1 << 18))
        _serve(job, jobs, channel, share)


def _fall_silent() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _serve(
    job: Callable[[bytes], bytes] | None, jobs: BinaryIO, channel: socket.socket, share: sandbox.CpuShare
) -> None:
    """Without a job, every request is refused: the worker is not safe enough for it."""
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
    """Whatever a job raises is an answer, not the worker's end."""
    try:
        answer = job(payload)
        if not isinstance(answer, bytes):
            raise TypeError(f"a job answers with bytes, not {type(answer).__name__}")
    except MemoryError:
        return MessageKind.NO_MEMORY, b""
    except Exception as trouble:  # noqa: BLE001 - a stranger's code runs here
        words = f"{type(trouble).__name__}: {trouble}"
        return MessageKind.RAISED, words[:MANY_WORDS].encode("utf-8", "replace")
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
        found = found(argument)  # one that makes the job
    job: Callable[[bytes], bytes] = found
    return job


if __name__ == "__main__":
    main(*sys.argv[1:])
