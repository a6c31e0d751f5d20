"""`gossamer politeness`: proof, host by host, that what was promised was kept."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.archive.reader import read_capture
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ArchiveDamaged
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.ledger import ArchivedFetch, LedgerRow, Report, contradiction, kept_by, reported, suspects
from gossamer.frontier.api import Ledger
from gossamer.frontier.reports import ledger
from gossamer.store.captures import CapturedAt, moments
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.state import open_snapshot
from gossamer.store.statements import State
from gossamer.values.format import as_json, counted

BROKEN = 4
"""The exit code of a check that found a miss."""


def politeness(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    deep: Annotated[
        bool,
        Parameter(help="Open every record of the archive: the gap is measured from the end of each response. Slow."),
    ] = False,
    limit: Annotated[int, Parameter(help="Number of hosts to show, worst first; 0: all.")] = 20,
    json: Annotated[bool, Parameter(help="As JSON, every host.")] = False,
) -> int:
    directory, outside = existing(dir), real_outside()
    with closing(open_snapshot(directory)) as state, Working("checking", outside.clock) as progress:
        report = checked(state, directory, outside, deep, progress)
    print(as_json(report)) if json else show(report, limit, Console())
    return 0 if report.is_kept else BROKEN


def checked(state: State, directory: Directory, outside: Outside, is_deep: bool, progress: Working) -> Report:
    """Every host of the ledger, held against the archive."""
    owed = {entry.host: entry for entry in ledger(state) if entry.visits}
    rows = []
    for name, visits in moments(state):
        entry = owed.pop(name, None)
        if entry is not None:  # a host without visits of ours was imported
            rows.append(row_of(entry, visits, directory, outside, is_deep))
            progress.says(f"checking: {counted(len(rows), 'host')}")
    rows += [row_of(entry, [], directory, outside, is_deep) for entry in owed.values()]
    return reported(rows, is_deep)


def row_of(
    entry: Ledger, moments: Sequence[CapturedAt], directory: Directory, outside: Outside, is_deep: bool
) -> LedgerRow:
    """Beginnings alone show a visit that came far too soon; the records of such a pair, or of all, show the gap."""
    ordered = sorted(moments, key=lambda one: (one.place.volume, one.place.number))
    seen = [ArchivedFetch(one.at, one.url.text) for one in ordered]
    places = set(range(len(seen))) if is_deep else _with_successors(suspects(seen, entry.least_gap_s))
    for place in places:
        try:
            capture = read_capture(outside.files, directory.archive, ordered[place].place)
        except ArchiveDamaged:  # when its answer ended is lost: the gap is counted from its beginning
            capture = None
        took_s = capture.took_s if capture is not None else 0.0
        seen[place] = msgspec.structs.replace(seen[place], took_s=took_s)
    archive = kept_by(seen)
    return LedgerRow(
        entry.host,
        entry.visits,
        entry.gap_s,
        entry.least_gap_s,
        entry.mean_gap_s,
        entry.broken,
        archive,
        contradiction(entry.least_gap_s, archive),
    )


def _with_successors(places: Sequence[int]) -> set[int]:
    return {near for place in places for near in (place, place + 1)}


def show(report: Report, limit: int, console: Console) -> None:
    table = Table(box=None)
    table.add_column("host", overflow="fold")
    for name in ("fetches", "minimum gap", "shortest gap", "mean gap", "archive", "too short"):
        table.add_column(name, justify="right")
    shown = report.rows[:limit] if limit > 0 else report.rows
    for row in shown:
        numbers = (row.promised_s, row.least_s, row.mean_s, row.archive.least_s)
        spans = ["" if number is None else f"{number:.3f} s" for number in numbers]
        style = None if row.is_kept else "bold red"
        table.add_row(row.host, f"{row.visits:,}", *spans, f"{row.broken:,}", style=style)
    console.print(table, highlight=False)
    if len(shown) < report.hosts:
        console.print(Text(f"... and {counted(report.hosts - len(shown), 'host')} more: --limit 0", style="dim"))
    for row in report.rows:
        if row.contradiction:
            console.print(Text(f"{row.host}: {row.contradiction}", style="bold red"), soft_wrap=True)
    console.print(Text(summary(report), style="bold" if report.is_kept else "bold red"), soft_wrap=True)


def summary(report: Report) -> str:
    start = f"{counted(report.visits, 'fetch')} from {counted(report.hosts, 'host')}"
    if report.is_kept:
        how = "every record of the archive" if report.is_deep else "the catalogue of the archive"
        return f"{start}: every minimum gap was kept, and {how} agrees"
    parts = [f"{counted(report.broken, 'gap')} too short"] if report.broken else []
    if report.contradictions:
        parts.append(f"the archive contradicts the ledger at {counted(report.contradictions, 'host')}")
    return f"{start}: {', and '.join(parts)}"
