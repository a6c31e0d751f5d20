"""A real Tika server for tests: its jar, downloaded once, on a loopback port; it ends with the tests."""

import atexit
import fcntl
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path

import pytest
from tests.services import java

VERSION = "3.2.2"
NAME = f"tika-server-standard-{VERSION}.jar"
ARTIFACT = f"org.apache.tika:tika-server-standard:{VERSION}"
"""One file with all that it needs."""


def jar() -> Path:
    java.JARS.mkdir(parents=True, exist_ok=True)
    path = java.JARS / NAME
    with (java.JARS / "tika.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_file():
            # not `java.jars`: the description of its parent is missing where Maven looks for it
            command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={java.JARS}"]
            done = subprocess.run(command, cwd=java.JARS, capture_output=True, text=True, timeout=java.DOWNLOAD_S)
            if done.returncode:
                raise RuntimeError(f"Maven could not download {ARTIFACT}:\n{done.stdout[-2000:]}")
    return path


class Tika:
    def __init__(self, folder: Path) -> None:
        self._folder, self._jar = folder, jar()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-jar", str(self._jar), "--host", "127.0.0.1"]
        self.process = java.started([*command, "--port", str(self.port), "--noFork"], self._folder, self._answers)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/version", timeout=2) as answer:
                return bool(answer.read())
        except (urllib.error.URLError, OSError):
            return False


@lru_cache(maxsize=1)
def server() -> Tika:
    """The server of this test run, started once."""
    if why := java.why_absent():
        pytest.skip(why)
    folder = Path(tempfile.mkdtemp(prefix="gossamer-tika-"))
    found = Tika(folder)
    found.start()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(found.stop)
    return found
