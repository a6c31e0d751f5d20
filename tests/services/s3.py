"""A real S3 server for tests: versitygw over a temporary folder, on loopback only.

It is built once with Go, into the folder of services, and serves one test process. Tests use prefixes of their own.
"""

import atexit
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest
from tests.services import java

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUILD_S = 900
KEY, SECRET = "spider", "a-secret-for-tests"
BUCKET = "crawls"


class S3:
    """`stop` and `start` again are for tests of lost connections; the objects stay, and so does the port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def objects(self) -> Path:
        """The bucket, as a folder with the objects as files."""
        return self.folder / "data" / BUCKET

    def start(self) -> None:
        self.objects.mkdir(parents=True, exist_ok=True)
        (self.folder / "side").mkdir(exist_ok=True)
        program = [str(_program()), "--access", KEY, "--secret", SECRET, "--port", f"127.0.0.1:{self.port}", "--quiet"]
        backend = ["posix", "--sidecar", str(self.folder / "side"), str(self.folder / "data")]
        self.process = java.started([*program, *backend], self.folder, self._answers)

    def stop(self) -> None:
        """At once, as by a failure."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def address(self, prefix: str, secret: str = SECRET, bucket: str = BUCKET) -> str:
        options = f"endpoint=http://127.0.0.1:{self.port}&region=us-east-1&access_key_id={KEY}"
        return f"s3://{bucket}/{prefix}?{options}&secret_access_key={secret}"

    def address_for(self, folder: Path) -> str:
        """With a prefix for this folder alone."""
        return self.address(prefix_for(folder))

    def objects_for(self, folder: Path) -> Path:
        """The objects under that prefix."""
        return self.objects / prefix_for(folder)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False


def server() -> S3:
    """The one server of this test process. Skips the calling test if there is none."""
    _skip_without()
    return _shared()


def own_server(folder: Path) -> S3:
    """A server of the calling test, in this folder."""
    _skip_without()
    running = S3(folder)
    running.start()
    return running


def prefix_for(folder: Path) -> str:
    return "t" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def _skip_without() -> None:
    pytest.importorskip("obstore")
    if not (_place() / "versitygw").is_file() and shutil.which("go") is None:
        pytest.skip("no S3 server: Go is missing, which builds it (https://go.dev/dl)")


def _place() -> Path:
    return java.JARS / "versitygw"


def _program() -> Path:
    if why := why_not_built():
        pytest.skip(f"no S3 server: {why}")
    return _place() / "versitygw"


@lru_cache(maxsize=1)
def why_not_built() -> str:
    """Builds it, which takes some minutes once; empty when it is there."""
    folder = _place()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "versitygw").is_file():
            return ""
        environment = os.environ | {"GOBIN": str(folder)}
        done = subprocess.run(
            ["go", "install", MODULE], env=environment, capture_output=True, text=True, timeout=BUILD_S
        )
        return f"Go could not build it: {done.stderr[-300:]}" if done.returncode else ""


@lru_cache(maxsize=1)
def _shared() -> S3:
    folder = Path(tempfile.mkdtemp(prefix="gossamer-s3-"))
    running = own_server(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(running.stop)
    return running
