"""What commands print with: plain text, tables, SPARQL results, and the progress of long work."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import Clock
from gossamer.crawler.damage import DAMAGED
from gossamer.store.address import shown
from gossamer.values.format import counted, harmless

LONGEST_SHOWN = 200
EVERY_S = 5.0
FIRST_S = 2.0
MOST_NAMED = 20


class PipeConsole(Console):
    def on_broken_pipe(self) -> None:
        """The exit code is that of every command whose reader has gone."""
        raise BrokenPipeError


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console that takes all text literally: a page may contain what looks like markup."""
    return PipeConsole(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def note(*lines: str) -> None:
    """Print for people, on standard error: programs read standard output."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)


def report_damage(words: Sequence[str], dir: Path, *, is_skipped: bool = False) -> int:
    """Print the damage that a command found in the archive. Returns the exit code."""
    note(*(f"{'skipped' if is_skipped else 'damaged'}: {line}" for line in words[:MOST_NAMED]))
    if words:
        found = counted(len(words), "damaged record")
        where = "skipped" if is_skipped else "in the archive"
        note(f"{found} {where}: `gossamer verify --dir {shown(dir)}` says what to do")
    return DAMAGED if words else 0


def plain(text: str) -> str:
    """On one line, cut, and without control characters: text from pages could control the terminal."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST_SHOWN else line[:LONGEST_SHOWN] + "..."
    return "".join([char if char.isprintable() else "�" for char in line])


def table(*names: str, title: str | None = None) -> Table:
    """A table with these columns, aligned right where the name starts with >. The first column is never cut."""
    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for place, name in enumerate(names):
        drawn.add_column(
            name.removeprefix(">"),
            justify="right" if name.startswith(">") else "left",
            overflow="ellipsis" if place else "fold",
        )
    return drawn


def figures(title: str | None = None) -> Table:
    """A table of two columns without headings: figures and their labels."""
    drawn = Table(title=title, title_justify="left", box=None, show_header=False)
    drawn.add_column(justify="right", style="bold")
    drawn.add_column()
    return drawn


class Progress:
    """`with Progress("importing", clock) as progress: progress.show("importing: 12 captures")`.

    On a terminal it is one line that changes; elsewhere, a new line every 5 s.
    """

    def __init__(self, words: str, clock: Clock, out: Console | None = None, quiet: bool = False) -> None:
        """`quiet`: show nothing, because the output itself fills the terminal."""
        self._words, self._clock = words, clock
        self._out = out or console(stderr=True)
        self._quiet = quiet
        self._status: Status | None = None
        self._next = 0.0

    def __enter__(self) -> Self:
        self._next = self._clock.elapsed_s() + FIRST_S
        if self._out.is_terminal and not self._quiet:
            self._status = self._out.status(self._words)
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, words: str) -> None:
        if self._status is not None:
            self._status.update(words)
        elif not self._quiet and self._clock.elapsed_s() >= self._next:
            self._next = self._clock.elapsed_s() + EVERY_S
            self._out.print(words)


RESULT_TYPES = {
    "": "text/tab-separated-values, text/turtle",
    "table": "application/sparql-results+json, text/turtle",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "nt": "application/n-triples",
    "ttl": "text/turtle",
}
"""The Accept header of a SPARQL query, by the name of the format."""


def print_result(body: bytes, media_type: str, form: str) -> None:
    """Print the result of a SPARQL query; the form `table` is for people."""
    if form == "table" and media_type == RESULT_TYPES["json"]:
        console().print(_result_table(body))
    else:
        text = body.decode("utf-8", "replace")
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def _result_table(body: bytes) -> Table | Text:
    """SPARQL 1.1 Query Results JSON as a table."""
    found = msgspec.json.decode(body)
    if "boolean" in found:
        return Text("yes" if found["boolean"] else "no")
    rows = found["results"]["bindings"]
    if not rows:
        return Text("nothing matches", style="dim")
    names = found["head"]["vars"]
    drawn = Table(*(f"?{name}" for name in names), box=None)
    for row in rows:
        terms = [row.get(name, {"type": "", "value": ""}) for name in names]
        values = [f"_:{term['value']}" if term["type"] == "bnode" else term["value"] for term in terms]
        drawn.add_row(*(Text(harmless(value), overflow="fold") for value in values))
    return drawn
