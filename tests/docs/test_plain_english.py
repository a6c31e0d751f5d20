"""Templates, scripts, help and documents say things in plain English: phrases that were replaced stay away."""

import re
from pathlib import Path

import pytest

from gossamer.cli import main as cli
from gossamer.cli.commands import DOORS
from gossamer.config.load import keys
from gossamer.monitor.system import CARDS, COUNTERS
from gossamer.values.outcome import IN_WORDS

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "gossamer" / "web"
BANNED = (
    "whoever", "seldom", "met lately", "let in", "lets in", "stand back", "stands back", "come back to", "comes back",
    "comes again", "come again", "coming back", "what is said of", "under way", "words behind", "facts behind",
    "at rest is", "is at rest", "endless series", "had to be mended", "is mended", "ask for facts", "told of",
    "of late", "goes on where", "addresses waiting", "standing back", "stood back", "lies on disk", "as it lies",
    "gives its host up", "in a word", "by lot", "lately", "facts keeper", "keeper of facts", "who asks", "visits to",
)  # fmt: skip
FOUND = re.compile(r"\b(" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in BANNED) + r")\b", re.I)
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "architecture.md"),
]
TEMPLATES = sorted((WEB / "templates").glob("*.html"))
SCRIPTS = sorted((WEB / "static").glob("*.js"))


def phrases_in(text: str) -> list[str]:
    return [" ".join(found.group().lower().split()) for found in FOUND.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documents_have_none_of_the_phrases(page: Path) -> None:
    assert phrases_in(page.read_text()) == []


@pytest.mark.parametrize("page", TEMPLATES, ids=lambda page: page.name)
def test_templates_have_none_of_the_phrases(page: Path) -> None:
    shown = re.sub(r"\{#.*?#\}", "", page.read_text(), flags=re.DOTALL)
    assert phrases_in(shown) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_have_none_of_the_phrases_outside_remarks(script: Path) -> None:
    assert phrases_in(re.sub(r"^\s*//.*$|\s//\s.*$", "", script.read_text(), flags=re.MULTILINE)) == []


@pytest.mark.parametrize("command", [door.name for door in DOORS])
def test_the_help_of_a_command_has_none_of_the_phrases(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.app([command, "--help"], result_action="return_value")
    shown = capsys.readouterr().out
    assert "Usage" in shown and phrases_in(re.sub(r"[│\s]+", " ", shown)) == []


def test_labels_outcomes_and_settings_have_none_of_the_phrases() -> None:
    labels = [label for _, label in (*CARDS, *COUNTERS)]
    assert phrases_in(" | ".join([*labels, *IN_WORDS.values(), *(key.says for key in keys())])) == []


def test_a_phrase_is_found_over_the_end_of_a_line_and_inside_no_other_word() -> None:
    assert phrases_in("It comes\n  Again, and Whoever asks.") == ["comes again", "whoever"]
    assert phrases_in("outlet in use, standing backwards") == []
