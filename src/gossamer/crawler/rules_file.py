"""`rules.txt` in the data directory, edited by `gossamer rules` or by hand.

The running crawl notices changes.
"""

from pathlib import Path

from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.rules.user.rulebook import NO_RULES, Problems, RuleBook, RuleProblem, load_rules, rule_of

FILE_NAME = "rules.txt"
BEFORE_NAME = "rules.before.txt"
LARGEST = 1 << 20
HEAD = (
    "# The rules of this crawl, one a line. The last include or exclude that applies decides.\n"
    "# `gossamer rules --help` shows how they are written.\n"
)


class RulesFile:
    """The rules of one collection. `book` reads them; the crawl calls `changed` at intervals."""

    def __init__(self, files: Files, root: Path, tell: Tell) -> None:
        self._files, self._path, self._tell = files, root / FILE_NAME, tell
        self._seen: str | None = None

    @property
    def path(self) -> Path:
        return self._path

    def text(self) -> str:
        size = self._files.size(self._path)
        if size is None:
            return ""
        if size > LARGEST:
            raise ConfigError(f"{self._path} is larger than {LARGEST} bytes")
        try:
            return self._files.read(self._path).decode()
        except UnicodeDecodeError:
            raise ConfigError(f"{self._path} is not UTF-8") from None

    def book(self) -> RuleBook:
        """Raises ConfigError that names each invalid line."""
        text = self.text()
        found = load_rules(text) if text else NO_RULES
        if isinstance(found, Problems):
            raise ConfigError(f"{self._path}:\n{found.in_words}")
        self._seen = text
        return found

    def changed(self) -> RuleBook | None:
        """The new rules, if they differ from those read last. Errors are reported, and the old rules stay."""
        try:
            text = self.text()
            if text == self._seen:
                return None
            self._seen = text
            book = self.book()
        except (ConfigError, OSError) as trouble:
            self._tell("rules.unreadable", why=str(trouble))
            return None
        self._tell("rules.changed", rules=len(book.rules))
        return book

    def add(self, rule: str) -> int:
        """Append a rule, where it takes precedence. Returns its line number."""
        read = checked(rule)
        before = self.text() or HEAD
        if not before.endswith("\n"):
            before += "\n"
        self._write(before + read + "\n")
        return before.count("\n") + 1

    def remove(self, which: str) -> str:
        """Remove the rule with this line number or text. Returns its text."""
        lines = self.text().splitlines()
        number = int(which) if which.isdecimal() else _line_of(which, lines)
        if not 1 <= number <= len(lines) or not is_rule(lines[number - 1]):
            raise ConfigError(f"there is no rule {which!r}; `gossamer rules list` shows them with their numbers")
        gone = lines.pop(number - 1)
        self._write("".join(f"{line}\n" for line in lines))
        return gone.strip()

    def save(self, text: str) -> None:
        """Replace all rules. Raises ConfigError that names each invalid line."""
        found = load_rules(text)
        if isinstance(found, Problems):
            raise ConfigError(found.in_words)
        if len(text.encode()) > LARGEST:
            raise ConfigError(f"these rules are longer than {LARGEST} bytes")
        self._write(text)

    def before(self) -> str | None:
        """The rules before the last change by gossamer; None: there was none."""
        path = self._path.with_name(BEFORE_NAME)
        size = self._files.size(path)
        return None if size is None or size > LARGEST else self._files.read(path).decode("utf-8", "replace")

    def undo(self) -> bool:
        """Swap the rules with those before the last change: undoing twice changes nothing. False if there are none."""
        text = self.before()
        if text is not None:
            self._write(text)
        return text is not None

    def _write(self, text: str) -> None:
        self._files.write(self._path.with_name(BEFORE_NAME), self.text().encode())
        self._files.write(self._path, text.encode())


def checked(rule: str) -> str:
    """The rule in one line. Raises ConfigError that shows what is wrong with it."""
    read = " ".join(rule.split("\n")).strip()
    found = rule_of(read)
    if isinstance(found, RuleProblem):
        raise ConfigError(f"not a rule: {found.says}\n  {found.text}\n  {' ' * (found.column - 1)}^")
    return read


def is_rule(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _line_of(rule: str, lines: list[str]) -> int:
    same = [number for number, line in enumerate(lines, 1) if line.strip() == rule.strip() and is_rule(line)]
    return same[-1] if same else 0
