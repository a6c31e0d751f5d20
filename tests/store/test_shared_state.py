"""The shared database is read like state.db: statements, placeholders, rows, and the volumes of each collection."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.postgres_server import server, why_absent

if why := why_absent():
    pytest.skip(why, allow_module_level=True)

from gossamer.base.clock import SystemClock
from gossamer.base.errors import ConfigError, DatabaseLost, DirectoryUnusable
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.config.load import without_password
from gossamer.frontier.rows import REASON_CODES
from gossamer.store import captures, options, tallies
from gossamer.store.captures import DamageMark
from gossamer.store.directory import Directory
from gossamer.store.postgres.state import AT_ONCE, PostgresState, SharedState, open_reader, translated
from gossamer.store.sqlite.database import read_only
from gossamer.store.state import SETTING, choose_database, open_database, open_snapshot, open_state, shared_place
from gossamer.store.statements import State, Statement
from gossamer.store.trust import allowed_file
from gossamer.values.capture import Kept, Place
from gossamer.values.url import Url

PAGE = Kept(1, Url("http://a.test/"), 10, Place("v-1", 0, 0, 9), 200, "text/html", b"\x00" * 32, 5, True)


@pytest.fixture
def conninfo(tmp_path: Path) -> str:
    return server().conninfo_for(tmp_path, waits_for_disk=False)


@pytest.fixture
def state(conninfo: str) -> Iterator[SharedState]:
    async def make() -> None:
        async with PostgresState(conninfo, "one", SystemClock(), silent):
            pass

    asyncio.run(make())
    with closing(open_reader(conninfo, "one")) as reader:
        yield reader


@pytest.mark.parametrize(
    ("for_sqlite", "for_psycopg"),
    [
        ("SELECT a FROM b WHERE c = ? LIMIT ?", "SELECT a FROM b WHERE c = %s LIMIT %s"),
        ("SELECT ?1, ?2, ?1", "SELECT %(1)s, %(2)s, %(1)s"),
        ("WHERE x = :name AND y = :name2::bigint", "WHERE x = %(name)s AND y = %(name2)s::bigint"),
        ("SELECT '?', ':a', 'it''s %', \"offset\" % 2", "SELECT '?', ':a', 'it''s %%', \"offset\" %% 2"),
        ("FROM v CROSS JOIN c ON x CROSS JOIN d e ON y", "FROM v  JOIN c ON x  JOIN d e ON y"),
        ("FROM h CROSS JOIN l WHERE x", "FROM h CROSS JOIN l WHERE x"),
    ],
)
def test_statements_are_translated(for_sqlite: str, for_psycopg: str) -> None:
    assert translated(for_sqlite) == for_psycopg


def test_rows_are_the_same_as_those_of_sqlite(state: SharedState) -> None:
    row = state.execute(
        "SELECT ?2, 1 < 2, sum(n), NULL, ?1 FROM (VALUES (1::bigint), (2)) AS v (n)", ("a'%?", b"\0\xff")
    )
    assert row.fetchone() == (b"\0\xff", 1, 3, None, "a'%?")
    words = Statement("SELECT json_each(:one)")
    words.postgres = "SELECT :one || 'x'"
    assert state.execute(words, {"one": "y"}).fetchall() == [("yx",)]
    assert state.execute("SELECT instr('abc', :text)", {"text": "c"}).fetchone() == (3,)


def test_many_rows_are_read_in_parts_for_several_statements_at_once(state: SharedState) -> None:
    many = AT_ONCE * 2 + 1
    first, second = (iter(state.execute("SELECT * FROM generate_series(1, ?)", (many,))) for _ in range(2))
    pairs = [(one, next(second)) for one in first]
    assert len(pairs) == many and pairs[-1] == ((many,), (many,))
    third = iter(state.execute("SELECT * FROM generate_series(1, ?)", (many,)))
    assert next(third) == (1,)
    third.close()  # type: ignore[attr-defined]
    assert state.execute("SELECT 1").fetchone() == (1,)


def test_every_reason_has_the_same_code_as_in_state_db(state: SharedState) -> None:
    for reason, code in REASON_CODES.items():
        assert state.execute("SELECT reason_code(?)", (reason.value,)).fetchone() == (code,)


def test_errors_say_what_is_missing_and_have_no_password(tmp_path: Path, conninfo: str) -> None:
    with pytest.raises(DirectoryUnusable, match="nothing has been crawled into the database postgres"):
        open_reader(conninfo, "one")
    with pytest.raises(DatabaseLost) as lost:
        open_reader("postgresql://me:secret@127.0.0.1:1/crawl?connect_timeout=2", "one")
    assert "secret" not in str(lost.value) and "crawl" in str(lost.value)
    with pytest.raises(ConfigError, match="not a PostgreSQL"):
        choose_database(Directory(tmp_path), "not a database, secret", DiskFiles())
    assert not Directory(tmp_path).database.exists()
    assert without_password("postgresql://me:secret@h/d") == "postgresql://me:***@h/d"
    assert without_password("host=h password='se\\'cret' user=me") == "host=h password=*** user=me"
    assert without_password("postgresql://h/d?password=secret&x=y") == "postgresql://h/d?password=***&x=y"


async def fill(state: PostgresState) -> None:
    def work(connection: State) -> None:
        captures.insert(connection, [PAGE])
        options.put_options(connection, {"crawl.max_pages": 3}, 5)
        options.put_options(connection, {"crawl.max_pages": 4}, 6)
        options.judge_by(connection, {"rules": "x"})
        options.put_seeds(connection, [PAGE.url], "host")
        captures.add_marks(connection, [DamageMark("v-1", 0, 1, "truncated")], 7)
        captures.add_marks(connection, [DamageMark("v-1", 0, 1, "truncated again")], 8)

    await state.run(work)


def test_captures_options_and_seeds_are_shared_and_each_collection_has_its_own_volumes(conninfo: str) -> None:
    async def story() -> None:
        async with PostgresState(conninfo, "one", SystemClock(), silent) as one:
            await fill(one)
            counted = await one.read(tallies.counts)
            assert (counted.captures, counted.pages) == (1, 1)
            assert await one.read(lambda c: captures.latest(c, PAGE.url)) == PAGE

    asyncio.run(story())
    with closing(open_reader(conninfo, "one")) as mine, closing(open_reader(conninfo, "two")) as theirs:
        assert captures.pages_from(mine, captures.FIRST, None, 5)[0].url == PAGE.url.text
        assert captures.volume_names(mine) == ["v-1"] and captures.volume_names(theirs) == []
        assert list(captures.in_order(mine)) == [PAGE] and list(captures.in_order(theirs)) == []
        assert (captures.mark_counts(mine).marked, captures.mark_counts(theirs).marked) == (1, 0)
        assert captures.damage_of(mine, 1) == "truncated again"
        assert options.stored_options(theirs)["crawl.max_pages"].value == 4
        assert options.stored_seeds(theirs) == [(PAGE.url, "host")]


def test_the_database_is_chosen_once_and_only_one_named_by_the_user_is_opened(tmp_path: Path, conninfo: str) -> None:
    directory, files = Directory(tmp_path / "c"), DiskFiles()
    directory.root.mkdir()
    choose_database(directory, "", files)
    assert shared_place(directory) is None
    choose_database(directory, conninfo, files)
    place = shared_place(directory)
    assert place is not None and directory.database.stat().st_mode & 0o777 == 0o600
    choose_database(directory, "", files)
    choose_database(directory, conninfo, files)
    assert shared_place(directory) == place
    with pytest.raises(ConfigError, match="is in another database"):
        choose_database(directory, f"{conninfo} connect_timeout=9", files)

    async def story() -> None:
        async with open_database(directory, SystemClock(), silent) as database:
            await database.run(lambda state: options.judge_by(state, {"a": "b"}))

    asyncio.run(story())
    with closing(open_state(directory)) as state, closing(open_snapshot(directory)) as still:
        assert options.judged_by(state) == options.judged_by(still) == {"a": "b"}
    received = Directory(tmp_path / "received")
    directory.root.rename(received.root)
    with pytest.raises(ConfigError, match="gossamer trust --dir"):
        open_state(received)
    assert SETTING in allowed_file().read_text()


def test_a_collection_in_state_db_cannot_move_to_the_database(tmp_path: Path, conninfo: str) -> None:
    directory = Directory(tmp_path)

    async def story() -> None:
        async with open_database(directory, SystemClock(), silent):
            pass

    asyncio.run(story())
    with pytest.raises(ConfigError, match="cannot move to the database"):
        choose_database(directory, conninfo, DiskFiles())
    read_only(directory.state).close()


LONG = "http://a.test/?" + "".join(str(number * number % 9973) for number in range(2_000))
"""More than an index can hold."""


def test_long_urls_are_seeds_and_pages_that_are_gone(conninfo: str) -> None:
    from gossamer.frontier.postgres.settlement import insert_captures

    url = Url(LONG[:8_000])
    page = msgspec.structs.replace(PAGE, url=url)

    async def story() -> list[tuple[str, str]]:
        async with PostgresState(conninfo, "one", SystemClock(), silent) as database:
            for reach in ("host", "domain"):
                await database.run(lambda state, reach=reach: options.put_seeds(state, [url], reach))  # type: ignore
            await database.shared.run(lambda connection, _: insert_captures(connection, [page], []))
            later = msgspec.structs.replace(page, fetched_at=11, capture_id=2, is_page=False)
            for _ in range(2):
                await database.shared.run(lambda connection, _: insert_captures(connection, [later], [later]))
            return await database.read(lambda state: state.execute("SELECT url, reach FROM seeds").fetchall())

    assert asyncio.run(story()) == [(url.text, "domain")]


def test_what_the_server_refuses_is_said_at_once_in_one_line(conninfo: str) -> None:
    async def story() -> None:
        async with PostgresState(conninfo, "one", SystemClock(), silent) as database:
            slow = "SET LOCAL statement_timeout = 20; SELECT pg_sleep(9)"
            await database.shared.run(lambda connection, _: connection.execute(slow))

    with pytest.raises(DatabaseLost, match="refuses what the crawl asks of it: canceling statement") as told:
        asyncio.run(story())
    assert "\n" not in str(told.value)


def refusal(conninfo: str) -> str:
    async def story() -> None:
        async with PostgresState(conninfo, "one", SystemClock(), silent):
            pass

    with pytest.raises((DirectoryUnusable, DatabaseLost)) as told:
        asyncio.run(story())
    assert "\n" not in str(told.value)
    return str(told.value)


def test_a_schema_that_cannot_be_used_is_refused_in_one_line_and_left_alone(conninfo: str) -> None:
    long = "s" * 63
    elsewhere = server().conninfo(long)
    server().run(f"CREATE TABLE {long}.mine (a int)")
    assert "at most 57" in refusal(elsewhere) or "more than 57" in refusal(elsewhere)
    server().run(f"DROP TABLE {long}.mine")
    assert "search_path" in refusal(conninfo.replace("search_path=", "search_path=none_"))
    other = server().conninfo("theirs")
    server().run("CREATE SCHEMA theirs_views; CREATE TABLE theirs_views.mine (a int)")
    assert "theirs_views" in refusal(other)
    server().run("DROP SCHEMA theirs_views CASCADE; CREATE TABLE theirs.meta (b int)")
    assert "cannot be opened" in refusal(other)
    server().run("DROP TABLE theirs.meta")
    server().run("DROP DATABASE IF EXISTS latin")
    server().run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    assert "LATIN1" in refusal(f"host={server().folder} user=gossamer dbname=latin")
    assert "does not exist" in refusal(f"host={server().folder} user=gossamer dbname=nowhere")
    assert "cannot be opened" in refusal("host=127.0.0.1,localhost port=1 user=gossamer")


def test_a_wrong_database_is_not_kept_as_that_of_a_directory(tmp_path: Path, conninfo: str) -> None:
    directory = Directory(tmp_path / "c")
    directory.root.mkdir()
    with pytest.raises(DatabaseLost, match="does not exist"):
        choose_database(directory, f"host={server().folder} user=gossamer dbname=nowhere", DiskFiles())
    with pytest.raises(DirectoryUnusable, match="create it first"):
        choose_database(directory, conninfo.replace("search_path=", "search_path=missing_"), DiskFiles())
    assert not directory.database.exists()
    choose_database(directory, conninfo, DiskFiles())
    assert directory.database.exists()


def test_a_part_of_a_password_is_not_taken_for_a_name(tmp_path: Path) -> None:
    for url in ("postgresql://u:se/cret@h/x", "postgresql://u:sec@ret@h/x"):
        with pytest.raises(ConfigError, match="percent-encoded") as told:
            choose_database(Directory(tmp_path), url, DiskFiles())
        assert "ret" not in str(told.value)


def test_the_connection_string_may_refer_to_a_variable_and_only_the_reference_is_stored(
    tmp_path: Path, conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    referring = conninfo.replace("user=gossamer", "user=${SPIDER_NAME}")
    with pytest.raises(ConfigError, match="variable SPIDER_NAME, which holds a secret"):
        choose_database(Directory(tmp_path), referring, DiskFiles())
    assert not Directory(tmp_path).database.exists()
    monkeypatch.setenv("SPIDER_NAME", "gossamer")
    choose_database(Directory(tmp_path), referring, DiskFiles())
    assert "user=${SPIDER_NAME}" in Directory(tmp_path).database.read_text()


def test_texts_that_cannot_be_stored_are_not_found_and_stop_nobody(state: SharedState) -> None:
    for text in ("a\0b", "a\udcff"):
        assert state.execute("SELECT id FROM hosts WHERE name = ?", (text,)).fetchall() == []
        assert list(state.execute("SELECT id FROM hosts WHERE name = :name", {"name": text})) == []
        assert state.execute("SELECT id FROM hosts WHERE ?1 = name OR name = ?1", (text,)).fetchone() is None


def test_a_new_password_of_the_same_database_is_kept_and_another_database_is_refused(tmp_path: Path) -> None:
    folder, directory, files = server().folder, Directory(tmp_path / "c"), DiskFiles()
    directory.root.mkdir()

    def url(password: str, port: int = 5432) -> str:
        return f"postgresql://gossamer:{password}@/postgres?host={folder}&port={port}&options=-csearch_path%3Drenewed"

    server().run("CREATE SCHEMA IF NOT EXISTS renewed")
    choose_database(directory, url("old"), files)
    before = shared_place(directory)
    choose_database(directory, url("new"), files)
    after = shared_place(directory)
    assert before is not None and after is not None and (after.url, after.owner) == (url("new"), before.owner)
    with pytest.raises(ConfigError, match="is in another database"):
        choose_database(directory, url("new", 5433), files)
