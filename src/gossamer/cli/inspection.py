"""What is said about an inspected page, and how it is shown on a terminal."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from gossamer.base.clock import Clock
from gossamer.extract.entities import Thing
from gossamer.extract.rdfa.prefixes import PREFIXES
from gossamer.reader.extraction import Remark
from gossamer.values.capture import charset_in_words

SOON_S = 2.0
"""Work that is done before needs no progress bar."""
EVERY_S = 5.0
LONGEST_SHOWN = 200
MOST_SHOWN = 500
"""Lines of a tree, or notices; a page with more than a person reads is cut."""
STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}
_BY_LENGTH = sorted(((iri, prefix) for prefix, iri in PREFIXES.items() if prefix), key=lambda one: -len(one[0]))


@dataclass(frozen=True, slots=True)
class Inspected:
    """What there is to say about one page."""

    name: str
    address: str
    facts: int
    facts_by_syntax: dict[str, int]
    items: list[Thing]
    notices: tuple[Remark, ...]
    unread: str = ""
    """Why it could not be read."""
    charset: str = ""
    charset_from: str = ""
    """The encoding it was read in, and what told it."""

    def count(self, level: str) -> int:
        return sum(1 for notice in self.notices if notice.level == level)


def show(page: Inspected, console: Console, with_items: bool) -> None:
    if page.unread:
        console.print(Text(plain(page.unread), style=STYLES["error"]), soft_wrap=True)
        return
    if with_items:
        console.print(tree_of(page), soft_wrap=True)
    for notice in page.notices[:MOST_SHOWN]:
        console.print(line_of(page.name, notice), soft_wrap=True)
    if len(page.notices) > MOST_SHOWN:
        console.print(Text(f"{page.name}: ... and {len(page.notices) - MOST_SHOWN:,} more: see --json", style="dim"))
    if with_items:
        console.print(Text(ending_of(page), style="dim"))


def ending_of(page: Inspected) -> str:
    return ", ".join(counted(page.count(level), level) for level in ("error", "warning"))


def counted(number: int, name: str) -> str:
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def line_of(name: str, notice: Remark) -> Text:
    """As compilers write it, so that editors can jump to the place."""
    where = f"{name}:{notice.line}:{notice.column}" if notice.line is not None else name
    text = Text(plain(where), style="bold")
    if notice.line is None and notice.path:
        text.append(f": {plain(notice.path)}", style="cyan")
    text.append(": ")
    text.append(notice.level, style=STYLES.get(notice.level, ""))
    text.append(f": {plain(notice.says)}", style="not bold")
    text.append(f" [{notice.kind}]", style="dim")
    return text


def tree_of(page: Inspected) -> Tree:
    counts = ", ".join(f"{count} {name}" for name, count in page.facts_by_syntax.items())
    head = Text(plain(page.name), style="bold")
    head.append(f"  {counted(page.facts, 'fact')}" + (f" ({counts})" if counts else ""), style="not bold dim")
    if page.charset:
        head.append(f"  {charset_in_words(page.charset, page.charset_from)}", style="not bold dim")
    tree = Tree(head)
    left = MOST_SHOWN
    waiting: list[tuple[Tree, Iterator[tuple[Text, Thing | None]]]] = [(tree, _tops(page.items))]
    while waiting:
        branch, lines = waiting[-1]
        label, inner = next(lines, (None, None))
        if label is None:
            waiting.pop()
        elif left == 0:
            tree.add(Text("... and more: see --json", style="dim"))
            break
        else:
            left -= 1
            grown = branch.add(label)
            if inner is not None:
                waiting.append((grown, _inside(inner)))
    return tree


def _tops(items: Sequence[Thing]) -> Iterator[tuple[Text, Thing | None]]:
    for item in items:
        yield _named(item), item


def _inside(thing: Thing) -> Iterator[tuple[Text, Thing | None]]:
    for name, values in thing["properties"].items():
        for value in values:
            yield from _valued(name, value)


def _valued(name: str, value: Any) -> Iterator[tuple[Text, Thing | None]]:
    label = Text(f"{short(name)}: ", style="green")
    if isinstance(value, dict) and "list" in value:
        yield label + Text(f"a list of {len(value['list'])}", style="dim"), None
        for one in value["list"]:
            yield from _valued(name, one)
    elif isinstance(value, dict) and "properties" in value:
        yield label + _named(value), value
    else:
        yield label + _simple(value), None


def _simple(value: str | dict[str, str]) -> Text:
    if isinstance(value, str):
        return Text(plain(value), style="default")
    if "id" in value:
        return Text(plain(value["id"]), style="cyan")
    kind = f"@{value['language']}" if "language" in value else f" ({short(value['datatype'])})"
    return Text(plain(value["value"]), style="default") + Text(kind, style="dim")


def _named(thing: Thing) -> Text:
    text = Text(", ".join(short(kind) for kind in thing["type"]) or "an entity", style="bold")
    if "id" in thing:
        text.append(f"  {plain(thing['id'])}", style="not bold cyan")
    return text


def short(iri: str) -> str:
    """With the usual prefix, when there is one."""
    for start, prefix in _BY_LENGTH:
        if iri.startswith(start) and len(iri) > len(start):
            return plain(f"{prefix}:{iri[len(start) :]}")
    return plain(iri)


def plain(text: str) -> str:
    """On one line, cut, and without what a terminal would obey: pages are not to be trusted with that."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST_SHOWN else line[:LONGEST_SHOWN] + "..."
    return "".join([char if char.isprintable() else "�" for char in line])


def summarised(found: Sequence[Inspected]) -> Table:
    table = Table(box=None)
    table.add_column("page", overflow="fold")
    for name in ("things", "facts", "errors", "warnings"):
        table.add_column(name, justify="right")
    for page in found:
        if page.unread:
            table.add_row(plain(page.name), "", "", "not read", "", style=STYLES["error"])
            continue
        errors, warnings = page.count("error"), page.count("warning")
        style = STYLES["error"] if errors else STYLES["warning"] if warnings else None
        numbers = (len(page.items), page.facts, errors, warnings)
        table.add_row(plain(page.name), *(f"{number:,}" for number in numbers), style=style)
    totals = (
        sum(len(page.items) for page in found),
        sum(page.facts for page in found),
        sum(page.count("error") for page in found),
        sum(page.count("warning") for page in found),
    )
    table.add_section()
    table.add_row(counted(len(found), "page"), *(f"{number:,}" for number in totals), style="bold")
    return table


class Going:
    """How far a long inspection is: a bar on a terminal, a line now and then elsewhere, nothing when it is short."""

    def __init__(self, total: int, clock: Clock) -> None:
        self._total, self._clock = total, clock
        self._done = 0
        self._next_s = 0.0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._next_s = self._clock.elapsed_s() + SOON_S
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on(self, name: str) -> None:
        """One more is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, name=plain(name))
        elif self._clock.elapsed_s() >= self._next_s:
            self._next_s = self._clock.elapsed_s() + EVERY_S
            self._say(name)

    def _say(self, name: str) -> None:
        console = Console(stderr=True)
        if not console.is_terminal:
            print(f"{self._done:,} of {self._total:,} pages: {plain(name)}", file=sys.stderr, flush=True)
            return
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[name]}", markup=False))
        self._bar = Progress(*columns, console=console, transient=True)
        self._bar.add_task("", total=self._total, completed=self._done, name=plain(name))
        self._bar.start()
