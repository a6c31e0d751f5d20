"""A PostgreSQL primary on loopback, alone or with two standbys of which one confirms each commit: to test failover."""

import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
from tests.postgres_server import OWNER, Server, programs

STANDBYS = ("a", "b")
ANY = "ANY 1 (a, b)"
"""Of the standbys: a single synchronous one would block every commit when it is lost."""


class Member(Server):
    """One server of the group, on a TCP port of its own."""

    def __init__(self, folder: Path, name: str, confirmed_by: str = "", counts: bool = False) -> None:
        found = programs()
        assert found is not None
        super().__init__(folder, found)
        self.name, self._confirmed_by, self._counts = name, confirmed_by, counts
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    @property
    def local(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={OWNER} dbname=postgres"

    def options(self) -> dict[str, str]:
        options = {"listen_addresses": "127.0.0.1", "port": str(self.port), "max_connections": "80"}
        if self._counts:
            options["shared_preload_libraries"] = "pg_stat_statements"
        return super().options() | options | {"synchronous_standby_names": self._confirmed_by}

    def run(self, sql: str) -> None:
        with psycopg.connect(self.local, autocommit=True, connect_timeout=5) as connection:
            connection.execute(sql)

    def copied_from(self, primary: "Member") -> None:
        """Make it a standby of that server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)
        self.own_folder()
        source = f"{primary.local} application_name={self.name}"
        command = ["pg_basebackup", "-d", source, "-D", "db", "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        done = self.start_program(command, subprocess.PIPE)
        printed = done.communicate(timeout=120)[0]
        assert done.returncode == 0, printed

    def promote(self) -> None:
        self.run("SELECT pg_promote(true, 60)")

    def kill(self) -> None:
        """As by a power failure of its machine."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)  # an immediate stop: no checkpoint, no goodbye
            self.process.wait(30)
            self.process = None


class Group:
    """`address` names all members; the driver uses whichever takes writes."""

    def __init__(self, standbys: Sequence[str] = STANDBYS, counts: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gossamer-pg-"))  # where its user, which is not root, may enter
        self.primary = Member(self.folder / "first", "first", ANY if standbys else "", counts)
        self.standbys = [Member(self.folder / name, name) for name in standbys]
        self.members = [self.primary, *self.standbys]

    def start(self) -> None:
        self.folder.chmod(0o711)
        self.primary.folder.mkdir(parents=True)
        self.primary.make()
        (self.primary.folder / "db" / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"
        )
        self.primary.start()
        for standby in self.standbys:
            standby.copied_from(self.primary)
            standby.start()

    @property
    def address(self) -> str:
        return self.address_at([one.port for one in self.members])

    @staticmethod
    def address_at(ports: Sequence[int]) -> str:
        """The same through other ports, such as those of proxies."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"postgresql://{OWNER}@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2"

    def fail_over(self) -> None:
        """Kill the primary, and make the standby that has received most take its place."""
        self.primary.kill()
        first, second = sorted(self.standbys, key=_received, reverse=True)
        first.promote()
        first.run(f"ALTER SYSTEM SET synchronous_standby_names = '{ANY}'")
        second.run(f"ALTER SYSTEM SET primary_conninfo = '{first.local} application_name={second.name}'")
        for one in (first, second):
            one.run("SELECT pg_reload_conf()")

    def stop(self) -> None:
        for one in self.members:
            with suppress(subprocess.TimeoutExpired):
                one.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _received(standby: Member) -> int:
    with psycopg.connect(standby.local, autocommit=True) as connection:
        row = connection.execute("SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint").fetchone()
        assert row is not None
        return int(row[0])
