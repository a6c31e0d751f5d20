"""SQL files: each statement has a name and a description."""

import re
import sqlite3
from importlib import resources

import pytest

from gossamer.store.sqlite.database import migrate, migrations
from gossamer.store.statements import load, parse


def test_statements_are_found_by_name() -> None:
    found = parse("-- A file.\n\n-- one: The first.\nSELECT 1,\n    2;\n\n-- two: The second.\nSELECT 3;\n")
    assert found == {"one": "SELECT 1,\n    2", "two": "SELECT 3"}


@pytest.mark.parametrize(
    "text", ["SELECT 1;", "-- one: First.\nSELECT 1;\n-- one: Again.\nSELECT 2;", "-- one: Nothing follows.\n"]
)
def test_a_file_in_a_wrong_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


FILES = [
    (package, file.name)
    for package in ("gossamer.store.sqlite", "gossamer.frontier.sqlite")
    for file in resources.files(package).iterdir()
    if file.name.endswith(".sql")
]


@pytest.mark.parametrize(("package", "file"), [*FILES, ("gossamer.store", "tallies.sql")])
def test_every_statement_fits_the_schema(package: str, file: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, migrations(), None)  # type: ignore[arg-type]
    statements = load(package, file)
    if "incoming_table" in statements:
        connection.execute(statements["incoming_table"])
    for statement in statements.values():
        numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
        amount = max(numbered) if numbered else statement.count("?")
        named = dict.fromkeys(re.findall(r":([a-z_]+)", statement))
        bound = [None] * amount if amount else named
        assert connection.execute(f"EXPLAIN {statement}", bound).fetchall(), "the statement has no plan"
    connection.close()
