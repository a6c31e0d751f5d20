"""The command line: help with examples, errors that say what to do, and stable exit codes."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.site import gossamer

from gossamer.base.errors import ConfigError, DirectoryBusy, DiskFull, GossamerError
from gossamer.cli import main as cli
from gossamer.cli.commands import COMMANDS, SHOW


def help_text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    cli.app([*words, "--help"], result_action="return_value")
    return capsys.readouterr().out


def exit_code(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Run the program's `main` in this process."""
    monkeypatch.setattr("sys.argv", ["gossamer", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_the_list_of_commands_describes_each(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(re.sub("[│╭╰╮╯─]", "", help_text(capsys)).split())
    for command in COMMANDS:
        assert f"{command.name} {command.help.splitlines()[0]}" in text
    assert "Exit codes:" in text and "gossamer demo" in text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_shows_examples_in_its_help(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_text(capsys, command.name)  # type: ignore[attr-defined]
    assert "Examples:" in text and "Exit codes:" not in text
    assert "[default: False]" not in text and "--no-" not in text and "--empty-" not in text
    for example in command.examples:  # type: ignore[attr-defined]
        assert " ".join(example.split()) in " ".join(text.split())


def test_config_show_has_examples_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert SHOW.examples[0] in help_text(capsys, "config", "show")


def command_of(example: str) -> list[str]:
    words = shlex.split(example.partition(" | ")[0])
    cut = [number for number, word in enumerate(words) if word in ("<", ">")]
    return words[1 : cut[0]] if cut else words[1:]


@pytest.mark.parametrize("example", [example for command in (*COMMANDS, SHOW) for example in command.examples])
def test_every_example_can_be_parsed(example: str) -> None:
    words = command_of(example)
    if words[0] == "show":
        words = ["config", *words]
    command, bound, _ = cli.app.parse_args(words, exit_on_error=False, print_error=False)
    assert callable(command) and bound is not None


def test_no_command_and_version_succeed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert exit_code(monkeypatch) == 0
    assert exit_code(monkeypatch, "--version") == 0
    assert "0.1.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["crawll"], ["search", "--bogus", "x"], ["export", "pdf"], ["crawl", "--delay", "x"]]
)
def test_a_wrong_command_line_ends_with_two(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, *words) == 2
    error = capsys.readouterr().err
    assert error.startswith("gossamer: ") and "--help` " in error


def test_a_rule_without_quotes_is_answered_with_quotes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, "rules", "add", "exclude", "depth", ">", "3") == 2
    error = capsys.readouterr().err
    assert "not expected: depth > 3; put text with spaces in quotes.\n`gossamer rules --help`" in error


READING = ["status", "rules", "search fish", "sparql ASK{}", "export nquads", "rebuild", "backup there", "top --once"]


@pytest.mark.parametrize("words", READING)
def test_a_directory_without_a_collection_ends_with_three_and_says_how_to_make_one(
    words: str, tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(monkeypatch, *words.split(), "--dir", f"{tmp_path}/none") == 3
    assert "Make one with `gossamer crawl URL --dir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["crawl"], 2, "give at least one seed URL"),
        (["crawl", "ftp://x"], 2, "not an http or https URL"),
        (["crawl", "127.0.0.1:8000"], 2, "allow it and nothing else: --allow-address 127.0.0.1"),
        (["crawl", "https://example.org/"], 2, "--contact you@example.org"),
        (["import"], 2, "give at least one archive"),
        (["import", "nowhere.warc.gz"], 2, "there is no file nowhere.warc.gz"),
        (["config", "show", "--config", "nowhere.toml"], 2, "there is no settings file"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(
    words: list[str],
    code: int,
    says: str,
    tmp_path: object,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert exit_code(monkeypatch, *words, "--dir", f"{tmp_path}/none") == code
    message = capsys.readouterr().err
    assert message.startswith("gossamer: ") and says in message and len(message.splitlines()) == 1


def test_a_file_where_a_directory_is_expected_is_an_error(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{tmp_path}/file"
    with open(file, "w"):
        pass
    assert exit_code(monkeypatch, "crawl", "127.0.0.1:8000", "--allow-address", "127.0.0.1", "--dir", file) == 3
    assert "is not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (DirectoryBusy("busy"), 3),
        (ConfigError("wrong"), 2),
        (DiskFull("full"), 1),
        (PermissionError(13, "Permission denied", "there"), 1),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [GossamerError("sick disk")])]), 1),
    ],
)
def test_our_errors_become_one_line_and_an_exit_code_at_any_depth(
    trouble: Exception, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise trouble

    monkeypatch.setattr(cli, "app", fails)
    assert exit_code(monkeypatch) == code
    assert capsys.readouterr().err.startswith("gossamer: ")


def test_a_bug_is_not_reported_as_an_error_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ExceptionGroup("tasks", [ValueError("a bug")])

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(ExceptionGroup):
        cli.main()


def test_ctrl_c_before_anything_runs_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert exit_code(monkeypatch) == 130


@pytest.mark.parametrize(("columns", "has_meanings"), [(80, False), (200, True)])
def test_config_show_fits_the_terminal(tmp_path: Path, columns: int, has_meanings: bool) -> None:
    allowed = [f"127.0.{number}.0/24" for number in range(9)]
    (tmp_path / "gossamer.toml").write_text(f"[fetch]\nallow_addresses = {allowed}\n")
    lines = gossamer("config", "show", "--dir", tmp_path, COLUMNS=str(columns)).stdout.splitlines()
    assert ("what it means" in lines[0]) is has_meanings and len(lines) < 160
    assert any(line.split()[:2] == ["crawl.sitemaps", "true"] for line in lines)
    assert has_meanings or "what they mean: gossamer config show --sample" in lines


def test_config_show_says_where_each_value_comes_from(tmp_path: object) -> None:
    done = gossamer("config", "show", "--dir", tmp_path, GOSSAMER_CONTACT="me@example.org")
    assert done.returncode == 0
    line = next(line for line in done.stdout.splitlines() if "contact" in line)
    assert "me@example.org" in line and "GOSSAMER_CONTACT" in line
