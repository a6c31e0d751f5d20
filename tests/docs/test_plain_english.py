"""Templates, scripts, help, documents and code are in plain English: phrases that were replaced stay away.

`python -m tests.docs.test_plain_english [PHRASE]` prints how often the code still uses each, or where it uses this one.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from gossamer.cli import main as cli
from gossamer.cli.commands import COMMANDS
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
    "asker", "is said of", "was said of", "has to say", "speaks of", "became of", "becomes of", "errand", "mends",
    "mended", "sow", "sowing", "sown",
)  # fmt: skip
FOUND = re.compile(r"\b(" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in BANNED) + r")\b", re.I)
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "architecture.md"),
]
TEMPLATES = sorted((WEB / "templates").glob("*.html"))
SCRIPTS = sorted((WEB / "static").glob("*.js"))


DIALECT = {
    "whoever": (0, "anyone who, or name them: the client, the user"),
    "whatever": (0, "any, all, or no matter what"),
    "seldom": (0, "rarely"),
    "thereby": (0, "so"),
    "lately": (0, "recently"),
    "of late": (0, "recently"),
    "let in": (0, "accepted"),
    "lets in": (0, "accepts"),
    "stands back": (0, "runs at low priority"),
    "stand back": (0, "run at low priority"),
    "come back": (1, "revisit, return"),
    "comes back": (0, "is revisited, returns"),
    "coming back": (0, "a revisit"),
    "came back": (0, "the answer, what was returned"),
    "is said of": (0, "is stated about, the properties of"),
    "was said of": (0, "was stated about"),
    "hasten": (0, "bring forward"),
    "hastens": (0, "brings forward"),
    "hastened": (0, "brought forward"),
    "hastening": (0, "bringing forward"),
    "sow": (0, "add the seeds"),
    "sowing": (0, "the seeds"),
    "sown": (0, "added"),
    "beside": (0, "next to; apart from"),
    "under way": (0, "in progress"),
    "told": (0, "given, reported, printed"),
    "met": (2, "seen, found, reached"),
    "nobody": (1, "no process, no client, none"),
    "somebody": (0, "a client, a user, someone"),
    "asker": (0, "the client"),
    "has to say": (0, "reports"),
    "for ever": (0, "forever, without end"),
    "goes on": (0, "continues"),
    "go on": (0, "continue"),
    "at rest": (0, "idle"),
    "mend": (2, "repair"),
    "mends": (0, "repairs"),
    "mended": (0, "repaired"),
    "anew": (0, "again, from scratch"),
    "thing": (21, "entity, item, or its name"),
    "things": (14, "entities, items, or their name"),
    "fault": (20, "error, or what is wrong"),
    "faults": (10, "errors"),
    "speaks of": (0, "mentions, describes"),
    "became of": (0, "the outcome of"),
    "becomes of": (0, "the outcome of"),
    "errand": (0, "request, task"),
    "errands": (3, "requests, tasks"),
    "strangers": (0, "third-party, untrusted"),
    "heed": (0, "obey, apply"),
    "in a word": (0, "as a label, briefly"),
    "stood": (0, "was"),
}
"""Phrases of comments, docstrings, messages and names in the code: how many there are, and what to write instead. The
numbers may only fall: write fewer, and lower the number."""
SPOKEN = re.compile(
    r"(?<![\w?])(?:" + "|".join(phrase.replace(" ", r"\s+(?:# )?") for phrase in sorted(DIALECT, key=len, reverse=True))
    + r")(?!\w)"
)  # fmt: skip


def places_in_code() -> dict[str, list[str]]:
    """By phrase: file:line of each in `src`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text().lower()
        for match in SPOKEN.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found[" ".join(match[0].replace("#", "").split())].append(f"{path.relative_to(ROOT)}:{line}")
    return found


def test_the_code_has_fewer_and_fewer_of_the_phrases() -> None:
    found = places_in_code()
    grown = [
        f"{phrase!r} {len(places)} times, at most {DIALECT[phrase][0]}; write: {DIALECT[phrase][1]}\n"
        f"    (the last ones: {', '.join(places[-12:])};\n    all: python -m tests.docs.test_plain_english '{phrase}')"
        for phrase, places in found.items()
        if len(places) > DIALECT[phrase][0]
    ]
    assert grown == [], "\n".join(grown)


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


@pytest.mark.parametrize("command", [one.name for one in COMMANDS])
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


if __name__ == "__main__":
    for phrase, places in places_in_code().items():
        if phrase in sys.argv[1:]:
            print(*places, sep="\n")
        elif len(sys.argv) == 1:
            print(f"{len(places):5} of at most {DIALECT[phrase][0]:4}  {phrase}: {DIALECT[phrase][1]}")
