"""The documents match the code: links work, commands exist, formats and settings are described."""

import inspect
import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.base.tell import CRASH_POINTS
from gossamer.cli import commands
from gossamer.cli import main as cli
from gossamer.cli.crawl.config import documented
from gossamer.config.load import keys
from gossamer.store import statements
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import migrations
from gossamer.views.words.schema import schema

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted(DOCS.rglob("*.md")),
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
COMMANDS = {one.name for one in commands.COMMANDS} | {"cluster", "config"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_in_the_documents_work(page: Path) -> None:
    lost = [
        target
        for target in LINK.findall(page.read_text())
        if "://" not in target and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert lost == []


def in_code(page: Path) -> Iterator[str]:
    """Lines of code blocks and inline code, without comments; lines of a page with "not yet" are left out."""
    text = "\n".join(line for line in page.read_text().splitlines() if "not yet" not in line)
    for code in CODE.findall(text):
        for line in code.strip("`").splitlines():
            yield line.partition("  #")[0].strip()


def command_lines(page: Path) -> list[str]:
    return [line for line in in_code(page) if line == "gossamer" or line.startswith("gossamer ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_the_documents_exists(page: Path) -> None:
    unknown = [
        line for line in command_lines(page) if (words := line.split()[1:]) and words[0].strip("`,.") not in COMMANDS
    ]
    assert unknown == []


def test_every_complete_command_line_of_the_readme_can_be_parsed() -> None:
    lines = [line for line in command_lines(ROOT / "README.md") if len(line.split()) > 2]
    assert len(lines) >= 10
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])[1:]
        command, bound, _ = cli.app.parse_args(words, exit_on_error=False, print_error=False)
        assert callable(command) and bound is not None, line


def test_flags_named_in_the_readme_exist(capsys: pytest.CaptureFixture[str]) -> None:
    helps = []
    for name in [*COMMANDS - {"cluster", "config"}]:
        cli.app([name, "--help"], result_action="return_value")
        helps.append(capsys.readouterr().out)
    for words in (["config", "show"], *(["cluster", one.name] for one in commands.CLUSTER)):
        cli.app([*words, "--help"], result_action="return_value")
    known = " ".join([*helps, capsys.readouterr().out])
    flags = {flag for line in in_code(ROOT / "README.md") for flag in re.findall(r"(?<![\w-])--[a-z-]+", line)}
    assert sorted(flag for flag in flags - {"--help"} if flag not in known) == []


def test_the_settings_page_is_up_to_date() -> None:
    """`gossamer config show --markdown > docs/settings.md` writes it."""
    text = (DOCS / "settings.md").read_text()
    assert text == documented(keys())
    for key in keys():
        assert f"`{key.variable}`" in text and key.says in text


def test_the_decision_on_crash_points_lists_exactly_the_crash_points() -> None:
    (record,) = DOCS.glob("decisions/0004-*.md")
    named = set(
        re.findall(r"`((?:frontier|archive|spool|links|graph|index|views|checkpoint)\.[a-z]+)`", record.read_text())
    )
    assert named == set(CRASH_POINTS)


def test_decisions_are_numbered_and_short() -> None:
    records = sorted((DOCS / "decisions").glob("*.md"))
    assert [record.name[:4] for record in records] == [f"{number:04}" for number in range(1, len(records) + 1)]
    for record in records:
        assert len(record.read_text().splitlines()) <= 60, record.name


def formats() -> str:
    return (DOCS / "formats.md").read_text()


def test_every_file_of_a_data_directory_is_described() -> None:
    directory = Directory(Path("directory"))
    named = [path.name for path in (directory.config, directory.state, directory.control, directory.links)]
    named += [path.name for path in directory.folders()[1:]]
    named += [directory.indexer_lock.name, directory.facts_lock.name, "writer.lock", "position", "format", "confirmed"]
    assert [name for name in named if name not in formats()] == []


def tables_of(*scripts: str) -> dict[str, list[str]]:
    connection = sqlite3.connect(":memory:")
    for script in scripts:
        connection.executescript(script)
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return {
        name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})").fetchall()]
        for (name,) in names.fetchall()
    }


def made_by(package: str) -> list[str]:
    return [sql for name, sql in statements.load(package).items() if name.startswith("create_")]


@pytest.mark.parametrize(
    ("section", "scripts"),
    [
        ("state.db", migrations()),
        ("links.db", made_by("gossamer.views.links")),
        ("control.db", made_by("gossamer.monitor")),
    ],
)
def test_every_table_and_column_is_described(section: str, scripts: list[str]) -> None:
    text = formats().partition(f"## {section}\n")[2].partition("\n## ")[0]
    for table, columns in tables_of(*scripts).items():
        assert f"`{table}`" in text
        assert [column for column in columns if f"`{column}`" not in text] == [], table


def test_every_field_of_the_index_is_described() -> None:
    text = formats().partition("## Index\n")[2].partition("\n## ")[0]
    code = inspect.getsource(schema)
    named = set(re.findall(r'"(\w+)"', code)) - {"raw", "basic", "position"}
    assert len(named) > 10 and sorted(name for name in named if f"`{name}`" not in text) == []
