"""The barriers around a worker: they refuse raw system calls, and a missing one is reported."""

import asyncio
import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workers import jobs

from gossamer.base.clock import SystemClock
from gossamer.base.errors import WorkerLost
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.workers import child as seccomp
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import MEANINGS, Barriers, Limits, from_bits, in_words, weakest

ROOT = Path(__file__).parents[2]
EASY = Limits(wall_s=120.0)
ALL = Barriers(**dict.fromkeys(MEANINGS, True))
ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls are those of x86-64")


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")


def call_worker(*payloads: bytes, limits: Limits = EASY) -> tuple[Barriers, list[bytes]]:
    async def use_pool() -> tuple[Barriers, list[bytes]]:
        async with Pool(jobs.raw, 1, limits, SystemProcesses(), SystemClock(), silent) as pool:
            answers = [await pool.call(payload) for payload in payloads]
            assert pool.barriers is not None
            return pool.barriers, answers

    return asyncio.run(use_pool())


@ON_X86
@pytest.mark.parametrize(
    "call",
    [
        "41 2 1 0",  # socket(AF_INET, SOCK_STREAM)
        "41 10 2 0",  # socket(AF_INET6, SOCK_DGRAM)
        "41 16 3 0",  # socket(AF_NETLINK)
        "41 1 1 0",  # socket(AF_UNIX): an abstract address would leave a container
        "42 0 0 0",  # connect
        "59 0 0 0",  # execve
        "322 0 0 0",  # execveat
        "57",  # fork
        "58",  # vfork
        "56 17 0 0 0 0",  # clone(SIGCHLD): a process, not a thread
        "101 0 0 0",  # ptrace(PTRACE_TRACEME)
        "310 1 0 0",  # process_vm_readv
        "165 0 0 0",  # mount
        "272 0",  # unshare
        "308 0 0",  # setns
        "304 0 0 0",  # open_by_handle_at
        "321 0 0 0",  # bpf
        "298 0 0 0",  # perf_event_open
        "250 0 0 0",  # keyctl
        "323 0",  # userfaultfd
        "246 0 0 0",  # kexec_load
        "313 0 0 0",  # finit_module
        "425 1 0",  # io_uring_setup
        f"{seccomp.X32_BIT + 41} 2 1 0",  # socket by its x32 number
    ],
)
def test_F_X3_a_raw_system_call_is_refused_by_the_filter(call, calls_made):
    assert calls_made[call] == errno.EPERM


@pytest.fixture(scope="module")
def calls_made(request) -> dict[str, int]:
    """The result of every call, all from one worker."""
    marks = [mark for mark in test_F_X3_a_raw_system_call_is_refused_by_the_filter.pytestmark if mark.args[0] == "call"]
    calls = marks[0].args[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
        barriers, answers = call_worker(*(call.encode() for call in calls))
    if not barriers.seccomp:
        pytest.skip("this kernel refuses seccomp filters")
    return dict(zip(calls, map(int, answers), strict=True))


@ON_X86
def test_the_c_library_falls_back_from_clone3_and_threads_still_start():
    _, [clone3, thread] = call_worker(b"435 0 0", b"thread")
    assert int(clone3) == errno.ENOSYS
    assert thread == b"ran"


def test_a_worker_reports_which_barriers_are_in_place():
    barriers, _ = call_worker(b"thread")
    assert barriers.memory and barriers.cpu and barriers.files and barriers.audit
    assert barriers.no_new_privileges and barriers.seccomp and barriers.network


@pytest.mark.parametrize("refused", ["namespaces", "namespaces seccomp"])
def test_F_X3_a_worker_that_cannot_set_up_a_barrier_reports_it_and_continues(refused, tmp_path):
    """A filter around the whole process refuses what a strict container refuses: unshare and prctl(PR_SET_SECCOMP)."""
    script = tmp_path / "strict.py"
    script.write_text("from tests.workers.strict import main\nmain()\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    ran = subprocess.run(
        [sys.executable, str(script), *refused.split()], env=environment, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    missing, plain, guarded = ran.stdout.split("\n")[:3]
    assert missing == ("network" if refused == "namespaces" else "network seccomp")
    assert plain == "done"
    assert guarded == ("done" if refused == "namespaces" else "unguarded")


def test_barriers_are_sent_as_one_number():
    for name in MEANINGS:
        one = Barriers(**{**dict.fromkeys(MEANINGS, True), name: False})
        assert from_bits(one.missing_bits) == one and one.missing == (name,)
        assert weakest([ALL, one]) == one
    assert ALL.missing_bits == 0


def test_a_missing_barrier_is_described_with_its_meaning():
    assert in_words(ALL) == "network closed, memory and CPU limited, seccomp on"
    assert "network OPEN" in in_words(Barriers()) and "seccomp OFF" in in_words(Barriers())


def test_the_jumps_of_the_filter_stay_within_it():
    for abi in seccomp.ABIS.values():
        code = seccomp.program(abi)
        assert len(code) < 4096
        for place, (_, if_true, if_false, _) in enumerate(code):
            assert place + 1 + max(if_true, if_false) <= len(code)
        assert len(set(abi.refused)) == len(abi.refused)


def test_an_unguarded_worker_is_not_reported_as_a_crash():
    assert WorkerLost("unguarded").why == "unguarded"
