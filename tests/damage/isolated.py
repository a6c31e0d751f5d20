"""The program in a process of its own, forked from one that has imported it: as isolated as a new one, and faster.

`obeys_modes` drops the capabilities with which root ignores file modes, so that it cannot open a file of mode 000.
"""

import ctypes
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.cli.site import PATIENCE_S, plain_environment

PR_CAPBSET_DROP = 24
CAPABILITY_VERSION_3 = 0x20080522
IGNORES_MODES = (1, 2)
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH."""

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.damage.isolated", "tests.damage.imports"])


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    errors: str


def ran(arguments: list[str], scratch: Path, obeys_modes: bool = False) -> Ended:
    with running(arguments, scratch, obeys_modes) as process:
        process.join(PATIENCE_S)
        assert process.exitcode is not None, f"{arguments} hangs"
    return ended(process, scratch)


@contextmanager
def running(arguments: list[str], scratch: Path, obeys_modes: bool = False) -> Iterator[BaseProcess]:
    """Its output goes to the files `out` and `errors` in `scratch`."""
    for name in ("out", "errors"):
        (scratch / name).touch()
    process = _forks.Process(target=_main, args=(arguments, str(scratch), obeys_modes))
    process.start()
    try:
        yield process
    finally:
        if process.is_alive():
            process.kill()
        process.join()


def ended(process: BaseProcess, scratch: Path) -> Ended:
    out, errors = ((scratch / name).read_text("utf-8", "replace") for name in ("out", "errors"))
    return Ended(-1 if process.exitcode is None else process.exitcode, out, errors)


def modes_bind() -> str:
    """Why the program could open a file of mode 000 here; empty if it cannot."""
    process = _forks.Process(target=_tried)
    process.start()
    process.join()
    return "" if process.exitcode == 0 else "the tests cannot drop root's capabilities on this machine"


def _main(arguments: list[str], scratch: str, obeys_modes: bool) -> None:
    for number, name in ((1, "out"), (2, "errors")):
        os.dup2(os.open(f"{scratch}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    environment = plain_environment()
    os.environ.clear()
    os.environ.update(environment)
    if obeys_modes:
        _obey_modes()
    sys.argv = ["gossamer", *arguments]
    from gossamer.cli import main as cli

    cli.main()


def _tried() -> None:
    _obey_modes()
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        try:
            os.close(os.open(file.name, os.O_RDONLY))
        except PermissionError:
            return
    sys.exit(1)


def _obey_modes() -> None:
    """Also for the processes it starts: a capability that is not in the bounding set is not regained by `exec`."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in IGNORES_MODES:
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()
    if libc.capget(header, held):
        raise OSError(ctypes.get_errno(), "capget")
    for place in (0, 1, 2):  # effective, permitted, inheritable: the first 32 of each
        for capability in IGNORES_MODES:
            held[place] &= ~(1 << capability)
    if libc.capset(header, held):
        raise OSError(ctypes.get_errno(), "capset")
