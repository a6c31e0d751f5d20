"""The database state.db: transactions, migrations, and readers next to the writer."""

import asyncio
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from gossamer.base.errors import DirectoryUnusable, DiskFull, StateDamaged
from gossamer.base.tell import silent
from gossamer.store import tallies
from gossamer.store.options import put_seeds, stored_seeds
from gossamer.store.sqlite.database import Database, migrate, migrations, read_only
from gossamer.testing import FakeClock
from gossamer.values.url import Url

ADD = "INSERT INTO tallies (name, number) VALUES (?, 1)"
NAMES = "SELECT name FROM tallies ORDER BY name"


def database(folder: Path) -> Database:
    return Database(folder / "state.db", FakeClock(), silent)


def test_a_failed_transaction_is_rolled_back(tmp_path: Path) -> None:
    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("lost",))
        raise KeyError("half way")

    async def story() -> list[tuple[str]]:
        async with database(tmp_path) as opened:
            await opened.run(lambda connection: connection.execute(ADD, ("kept",)))
            with pytest.raises(KeyError):
                await opened.run(breaks)
            return await opened.read(lambda connection: connection.execute(NAMES).fetchall())

    assert asyncio.run(story()) == [("kept",)]


def test_the_callback_runs_only_after_a_commit(tmp_path: Path) -> None:
    def breaks(connection: sqlite3.Connection) -> None:
        raise KeyError("no")

    async def story() -> list[int]:
        calls: list[int] = []
        async with database(tmp_path) as opened:
            await opened.run(lambda connection: 5, calls.append)
            with pytest.raises(KeyError):
                await opened.run(breaks, lambda _: calls.append(0))
        return calls

    assert asyncio.run(story()) == [5]


def test_the_writer_syncs_each_commit_and_keeps_a_wal(tmp_path: Path) -> None:
    async def story() -> list[object]:
        async with database(tmp_path) as opened:
            pragmas = ("PRAGMA journal_mode", "PRAGMA synchronous")
            return await opened.read(lambda c: [c.execute(sql).fetchone()[0] for sql in pragmas])

    assert asyncio.run(story()) == ["wal", 2]


def test_readers_see_commits_while_the_writer_writes(tmp_path: Path) -> None:
    async def story() -> None:
        async with database(tmp_path) as opened:
            await opened.run(lambda connection: connection.execute(ADD, ("one",)))
            reader = read_only(tmp_path / "state.db")
            assert reader.execute(NAMES).fetchall() == [("one",)]
            await opened.run(lambda connection: connection.execute(ADD, ("two",)))
            assert reader.execute(NAMES).fetchall() == [("one",), ("two",)]
            with pytest.raises(sqlite3.OperationalError):
                reader.execute(ADD, ("three",))
            reader.close()

    asyncio.run(story())
    late = read_only(tmp_path / "state.db")
    assert late.execute(NAMES).fetchall() == [("one",), ("two",)]
    late.close()


def test_a_reader_says_when_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(DirectoryUnusable, match="nothing has been crawled"):
        read_only(tmp_path / "state.db")


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"something else altogether\n" * 100)

    async def story() -> None:
        async with database(tmp_path):
            pass

    with pytest.raises(DirectoryUnusable, match=r"state\.db"):
        asyncio.run(story())


def test_F_P11_a_newer_schema_is_refused_with_the_advice_to_upgrade(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()

    async def story() -> None:
        async with database(tmp_path):
            pass

    with pytest.raises(DirectoryUnusable, match="upgrade"):
        asyncio.run(story())
    with pytest.raises(DirectoryUnusable, match="upgrade"):
        read_only(tmp_path / "state.db")


def test_F_P11_an_interrupted_migration_is_repeated_from_its_start(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "some.db", isolation_level=None)
    first = "CREATE TABLE one (n INTEGER);"
    broken = "CREATE TABLE two (n INTEGER); INSERT INTO nowhere VALUES (1);"
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [first, broken], tmp_path)
    assert connection.execute("PRAGMA user_version").fetchone() == (0,)
    assert migrate(connection, [first], tmp_path) == (0, 1)
    assert migrate(connection, [first, "CREATE TABLE two (n INTEGER);"], tmp_path) == (1, 2)
    assert migrate(connection, [first, "CREATE TABLE two (n INTEGER);"], tmp_path) == (2, 2)
    connection.close()


def test_an_empty_file_is_read_as_an_empty_database(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "state.db").close()
    with closing(read_only(tmp_path / "state.db")) as reader:
        assert tallies.counts(reader).pages == 0
    assert (tmp_path / "state.db").stat().st_size == 0, "a reader writes nothing"


def test_migrations_are_numbered_without_a_gap() -> None:
    assert len(migrations()) >= 1


def test_F_P5_a_full_disk_is_reported_and_committed_rows_stay(tmp_path: Path) -> None:
    fill = "INSERT INTO journal (amount, offers) VALUES (1, zeroblob(?))"

    async def story() -> list[tuple[str]]:
        async with database(tmp_path) as opened:
            await opened.run(lambda connection: connection.execute(ADD, ("kept",)))
            await opened.read(lambda connection: connection.execute("PRAGMA max_page_count = 40"))
            with pytest.raises(DiskFull):
                await opened.run(lambda connection: connection.execute(fill, (1 << 20,)))
            await opened.read(lambda connection: connection.execute("PRAGMA max_page_count = 100000"))
            await opened.run(lambda connection: connection.execute(fill, (1 << 20,)))
            return await opened.read(lambda connection: connection.execute(NAMES).fetchall())

    assert asyncio.run(story()) == [("kept",)]


def test_a_closed_database_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(database(tmp_path).read(lambda connection: None))


def test_F_P11_an_older_schema_is_refused_by_readers(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "state.db")
    migrate(connection, migrations()[:-1], tmp_path / "state.db")
    connection.close()
    with pytest.raises(DirectoryUnusable, match="older gossamer"):
        read_only(tmp_path / "state.db")


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        (b"CREATE TABLE meta", b"CREATE$TABLE meta"),
        (b"CREATE TABLE meta", b"CREATE TABLE m\xe5ta"),
        (b"known.example", b"kn\xefwn.example"),
    ],
)
def test_F_X12_damage_found_while_rows_are_read_is_reported(tmp_path: Path, word: bytes, instead: bytes) -> None:
    path = tmp_path / "state.db"

    async def filled() -> None:
        async with database(tmp_path) as opened:
            await opened.run(lambda c: put_seeds(c, [Url("https://known.example/")], "site"))

    asyncio.run(filled())
    content = path.read_bytes()
    at = content.index(word)
    path.write_bytes(content[:at] + instead + content[at + len(instead) :])
    with pytest.raises(StateDamaged, match="rebuild --state"), closing(read_only(path)) as state:
        stored_seeds(state)


@pytest.mark.parametrize("unpack", [zlib.decompress, msgspec.msgpack.decode])
def test_F_X12_a_value_that_cannot_be_unpacked_is_damage_too(tmp_path: Path, unpack: Callable[[bytes], object]) -> None:
    async def merged() -> None:
        async with database(tmp_path) as opened:
            await opened.run(lambda _: unpack(b"\xc1 not packed"))

    with pytest.raises(StateDamaged, match="rebuild --state"):
        asyncio.run(merged())


def test_the_schema_is_read_from_disk_once_for_all_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(create(tmp_path))
    migrations.cache_clear()
    reads: list[str] = []
    files = resources.files
    monkeypatch.setattr(resources, "files", lambda package: reads.append(package) or files(package))
    for _ in range(3):
        read_only(tmp_path / "state.db").close()
    assert reads == ["gossamer.store.sqlite"]


async def create(folder: Path) -> None:
    async with database(folder):
        pass
