"""A real PostgreSQL server for tests: Debian's programs, a temporary folder, a Unix socket and nothing else.

It is started when the first test needs it and stopped, by its process, when the tests end. PostgreSQL refuses to run as
root, so root starts it as user `nobody`. It syncs to disk before it confirms a write, as in production.
"""

import atexit
import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import IO

import pytest

FOLDERS = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")
SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "log_min_messages": "fatal",
    "deadlock_timeout": "200ms",
    "logging_collector": "off",
}
OWNER = "gossamer"
PR_SET_PDEATHSIG = 1


def programs() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest version; None if no server is installed."""
    found = [path.parent for folder in FOLDERS for path in Path(folder).glob("**/bin/initdb")]
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path).parent)
    return max(found, key=lambda path: [int(p) for p in path.parts if p.isdigit()], default=None)


class Server:
    """A running server. `stop` and `start` again, or `kill`, are for tests of lost connections."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self._user = "nobody" if os.geteuid() == 0 else None
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        self.folder.chmod(0o711)
        self.own_folder()
        command = ["initdb", "-D", "db", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        self.start_program(command, subprocess.PIPE).communicate(timeout=60)

    def own_folder(self) -> None:
        """Give it to the user that the server runs as."""
        if self._user:
            shutil.chown(self.folder, self._user)

    def options(self) -> dict[str, str]:
        return SETTINGS

    def start(self) -> None:
        options = [part for name, value in self.options().items() for part in ("-c", f"{name}={value}")]
        command = ["postgres", "-D", "db", "-k", str(self.folder), *options]
        self.process = self.start_program(command, (self.folder / "log").open("ab"))
        self._wait_until_it_answers()

    def stop(self) -> None:
        """An orderly stop that breaks open connections ("fast")."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
            self.process = None

    def conninfo(self, schema: str, waits_for_disk: bool = True) -> str:
        """The connection string for a schema of its own, which is created if missing.

        Suites that stop no server need not wait for the disk at each commit: their checks are the same.
        """
        self.run(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        options = f"-c search_path={schema} -c synchronous_commit={'on' if waits_for_disk else 'off'}"
        return f"host={self.folder} user={OWNER} dbname=postgres options='{options}'"

    def conninfo_for(self, folder: Path, waits_for_disk: bool = True) -> str:
        """The connection string for the schema of this folder."""
        return self.conninfo("t" + hashlib.sha256(str(folder).encode()).hexdigest()[:16], waits_for_disk)

    def run(self, sql: str) -> None:
        import psycopg

        with psycopg.connect(f"host={self.folder} user={OWNER} dbname=postgres", autocommit=True) as connection:
            connection.execute(sql)

    def start_program(self, command: list[str], output: IO[bytes] | int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [str(self.programs / command[0]), *command[1:]],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=self._user,
            preexec_fn=_stops_with_parent,
        )

    def _wait_until_it_answers(self) -> None:
        import psycopg

        for _ in range(600):
            try:
                return self.run("SELECT 1")
            except psycopg.OperationalError:
                if self.process is None or self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{(self.folder / 'log').read_text()}")


def _stops_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def why_absent() -> str | None:
    if programs() is None:
        return "no PostgreSQL server is installed (Debian: apt-get install postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (pip install 'gossamer[postgres]')"
    return None


def server() -> Server:
    """The one server of this test run. Skips the calling test if there is none."""
    if why := why_absent():
        pytest.skip(why)
    return _server()


@lru_cache(maxsize=1)
def _server() -> Server:
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="gossamer-pg-"))
    running = Server(folder, found)
    running.make()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    running.start()
    atexit.register(running.stop)
    return running
