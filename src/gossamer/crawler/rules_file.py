"""`rules.txt` in the data directory: written whole by `gossamer rules` or an editor, noticed by the running crawl."""

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
    """The rules of one collection. `book` reads them, `changed` is asked now and then by the crawl."""

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
        """Raises ConfigError that points at every line that is no rule."""
        text = self.text()
        found = load_rules(text) if text else NO_RULES
        if isinstance(found, Problems):
            raise ConfigError(f"{self._path}:\n{found.in_words}")
        self._seen = text
        return found

    def changed(self) -> RuleBook | None:
        """The new rules when they are not those read last. What cannot be read is told, and the old rules stay."""
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
        """At the end, where it is obeyed; the number of its line."""
        read = checked(rule)
        before = self.text() or HEAD
        if not before.endswith("\n"):
            before += "\n"
        self._write(before + read + "\n")
        return before.count("\n") + 1

    def remove(self, which: str) -> str:
        """The rule on that line, or written just so; its text."""
        lines = self.text().splitlines()
        number = int(which) if which.isdecimal() else _line_of(which, lines)
        if not 1 <= number <= len(lines) or not is_rule(lines[number - 1]):
            raise ConfigError(f"there is no rule {which!r}; `gossamer rules list` shows them with their numbers")
        gone = lines.pop(number - 1)
        self._write("".join(f"{line}\n" for line in lines))
        return gone.strip()

    def save(self, text: str) -> None:
        """All of it anew. Raises ConfigError that points at every line that is no rule."""
        found = load_rules(text)
        if isinstance(found, Problems):
            raise ConfigError(found.in_words)
        if len(text.encode()) > LARGEST:
            raise ConfigError(f"these rules are longer than {LARGEST} bytes")
        self._write(text)

    def before(self) -> str | None:
        """The rules before the last change that was made through us; None: there was none."""
        path = self._path.with_name(BEFORE_NAME)
        size = self._files.size(path)
        return None if size is None or size > LARGEST else self._files.read(path).decode("utf-8", "replace")

    def undo(self) -> bool:
        """The rules before the last change are in force again, and those now are kept in their place: undoing twice
        changes nothing. False when there are none."""
        text = self.before()
        if text is not None:
            self._write(text)
        return text is not None

    def _write(self, text: str) -> None:
        self._files.write(self._path.with_name(BEFORE_NAME), self.text().encode())
        self._files.write(self._path, text.encode())


def checked(rule: str) -> str:
    """The rule in one line. Raises ConfigError that points at what is wrong with it."""
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
