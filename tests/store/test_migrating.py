"""Migrations of databases with rows from older schemas to this one, also after a kill in the middle."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.store.sqlite.database import migrate, migrations, read_only

OLDEST = 5
TABLES = ("hosts", "addresses", "ends", "queue", "volumes", "captures", "seeds", "tallies", "revisits")
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from gossamer.store.sqlite.database import migrate, migrations
path = Path(sys.argv[1])
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
steps = int(sys.argv[2])
def tick():
    global steps
    steps -= 1
    if steps < 0:
        os.kill(os.getpid(), signal.SIGKILL)
connection.set_progress_handler(tick, 1)
migrate(connection, migrations(), path)
"""


def filled(path: Path, version: int) -> None:
    """Make a database of an older version, with a hundred rows in each important table."""
    with closing(sqlite3.connect(path, isolation_level=None)) as state:
        state.execute("PRAGMA journal_mode = WAL")
        migrate(state, migrations()[:version], path)
        for table in [table for table in TABLES if columns(state, table)]:
            named = columns(state, table)
            for number in range(100):
                row = [_value(name, kind, number, table) for name, kind in named]
                marks = ", ".join("?" * len(row))
                state.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)


def columns(state: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    return [(row[1], row[2]) for row in state.execute(f"PRAGMA table_info({table})")]


def _value(name: str, kind: str, number: int, table: str) -> object:
    if name in ("host_id", "volume_id", "id", "how", "reason", "source_host_id", "source_id"):
        return 1 + number % 4 if name in ("how", "reason") else number
    return f"{table} {name} {number}" if kind == "TEXT" else b"\x80" if kind == "BLOB" else number


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows in the columns of the oldest schema; later ones may have added columns."""
    with closing(sqlite3.connect(":memory:")) as old, closing(sqlite3.connect(path)) as state:
        for script in migrations()[:OLDEST]:
            old.executescript(script)
        names = {table: ", ".join(f'"{name}"' for name, _ in columns(old, table)) for table in TABLES}
        return {
            table: state.execute(f"SELECT {names[table]} FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES
        }


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as state:
        return int(state.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("before", [OLDEST, len(migrations()) - 1])
def test_F_P11_rows_of_older_schemas_survive_the_migration(tmp_path: Path, before: int) -> None:
    path = tmp_path / "state.db"
    filled(path, before)
    expected = rows(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as state:
        assert migrate(state, migrations(), path) == (before, len(migrations()))
    assert rows(path) == expected
    read_only(path).close()


def test_F_P11_after_a_kill_during_a_migration_the_old_schema_is_intact_and_the_next_start_migrates(
    tmp_path: Path,
) -> None:
    path, before = tmp_path / "state.db", OLDEST
    filled(path, before)
    expected = rows(path)
    program = [sys.executable, "-c", KILLED, str(path)]
    for step in (20, 90):
        done = subprocess.run([*program, str(step)], env=os.environ, check=False)
        assert done.returncode == -signal.SIGKILL
        assert version_of(path) == before and rows(path) == expected
        with closing(sqlite3.connect(path)) as state:
            assert state.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert not state.execute("SELECT 1 FROM sqlite_master WHERE name = 'forgotten'").fetchone()
    assert subprocess.run([*program, "1000000000"], env=os.environ, check=False).returncode == 0
    assert version_of(path) == len(migrations()) and rows(path) == expected


def test_the_migrations_are_read_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reading command opens the state, some several times."""
    read = list[str]()
    original = Path.read_text

    def counting(path: Path, *args: object, **kwargs: object) -> str:
        read.append(path.name)
        return original(path, *args, **kwargs)  # type: ignore[arg-type]

    filled(tmp_path / "state.db", len(migrations()))
    monkeypatch.setattr(Path, "read_text", counting)
    for _ in range(3):
        read_only(tmp_path / "state.db").close()
    assert [name for name in read if name.endswith(".sql")] == []
