"""A real SPARQL server for tests: Apache Jena Fuseki with a TDB2 dataset in a temporary folder, on a loopback port.

It is started when the first test needs it and stopped, by its process, when the tests end.
"""

import atexit
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pytest
from tests.services import java

from gossamer.base.clock import SystemClock
from gossamer.base.tell import silent
from gossamer.views.facts.server.endpoint import SparqlServer

ARTIFACT = "org.apache.jena:jena-fuseki-server:5.5.0"
UNION = ("--set", "tdb2:unionDefaultGraph=true", "--set", "arq:spillToDiskThreshold=20000")
"""The second makes the server sort large answers on disk: otherwise one query with ORDER BY uses up its memory."""


class Server:
    """A running server. `kill` and `start` again are for tests of lost connections."""

    def __init__(self, folder: Path, options: Sequence[str] = UNION, heap: str = "768m") -> None:
        self.folder, self._options, self._heap = folder, options, heap
        self._jar = java.jars(ARTIFACT) / "jena-fuseki-server-5.5.0.jar"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.query = f"http://127.0.0.1:{self.port}/gossamer/query"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.folder / "db").mkdir(exist_ok=True)
        command = ["java", f"-Xmx{self._heap}", "-XX:+ExitOnOutOfMemoryError", "-XX:TieredStopAtLevel=1"]
        command += ["-jar", str(self._jar), "--localhost"]
        dataset = [] if "--mem" in self._options else ["--loc", "db"]
        command += ["--port", str(self.port), *dataset, "--update", *self._options, "/gossamer"]
        self.process = java.started(command, self.folder, self._answers)

    def kill(self) -> None:
        """As after a power failure; a TDB2 dataset keeps what was committed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
            self.process = None

    def opened(self) -> SparqlServer:
        return SparqlServer(self.query, "", SystemClock(), silent)

    def cpu_s(self) -> float:
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def clear(self) -> None:
        """Without any facts again."""
        server = self.opened()
        server.update("DROP ALL")
        server.close()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.query}?query=ASK%7B%7D", timeout=5):
                return True
        except OSError as trouble:
            return getattr(trouble, "code", 0) == 401


def why_absent() -> str | None:
    try:
        import urllib3  # noqa: F401
    except ImportError:
        return "urllib3 is not installed (pip install 'gossamer[services]')"
    return java.why_absent()


def server() -> Server:
    """The one server of this test run, without facts. Skips the calling test if there is none."""
    if why := why_absent():
        pytest.skip(why)
    found = _server()
    found.clear()
    return found


def another(folder: Path, options: Sequence[str] = UNION) -> Server:
    """A server of the caller's own, not started yet. Skips the calling test if there can be none."""
    if why := why_absent():
        pytest.skip(why)
    return Server(folder, options)


@lru_cache(maxsize=1)
def _server() -> Server:
    folder = Path(tempfile.mkdtemp(prefix="gossamer-fuseki-"))
    running = Server(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    running.start()
    atexit.register(running.stop)
    return running
