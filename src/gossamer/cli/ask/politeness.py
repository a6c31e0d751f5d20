"""`gossamer politeness`: checks, host by host, that the gaps between fetches were kept."""

from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.cli.flags import Dir
from gossamer.cli.output import Progress, console, table
from gossamer.collection.directory import existing
from gossamer.collection.ledger import Report, checked
from gossamer.store.directory import DEFAULT
from gossamer.values.format import as_json, counted

BROKEN = 4
"""The exit code when a gap was too short."""


def politeness(
    *,
    dir: Dir = DEFAULT,
    deep: Annotated[
        bool,
        Parameter(help="Open every record of the archive: the gap is measured from the end of each response. Slow."),
    ] = False,
    limit: Annotated[int, Parameter(help="Number of hosts to show, worst first; 0: all.")] = 20,
    json: Annotated[bool, Parameter(help="As JSON, every host.")] = False,
) -> int:
    directory = existing(dir)
    outside = with_archive(directory, real_outside())
    with Progress("checking", outside.clock) as progress:
        report = checked(directory, outside.files, deep, progress.show)
    print(as_json(report)) if json else show(report, limit, console())
    return 0 if report.is_kept else BROKEN


def show(report: Report, limit: int, out: Console) -> None:
    hosts = table("host", ">fetches", ">gap now", ">shortest gap", ">mean gap", ">archive", ">too short")
    shown = report.rows[:limit] if limit > 0 else report.rows
    for row in shown:
        numbers = (row.promised_s, row.least_s, row.mean_s, row.archive.least_s)
        spans = ["" if number is None else f"{number:.3f} s" for number in numbers]
        style = None if row.is_kept else "bold red"
        hosts.add_row(row.host, f"{row.visits:,}", *spans, f"{row.broken:,}", style=style)
    out.print(hosts)
    if len(shown) < report.hosts:
        out.print(f"... and {counted(report.hosts - len(shown), 'more host')}: --limit 0", style="dim")
    for row in report.rows:
        if row.contradiction:
            out.print(f"{row.host}: {row.contradiction}", style="bold red", soft_wrap=True)
    out.print(summary(report), style="bold" if report.is_kept else "bold red", soft_wrap=True)


def summary(report: Report) -> str:
    start = f"{counted(report.visits, 'fetch')} from {counted(report.hosts, 'host')}"
    if report.is_kept:
        how = "every record of the archive" if report.is_deep else "the catalogue of the archive"
        return f"{start}: every minimum gap was kept, and {how} agrees"
    parts = [f"{counted(report.broken, 'gap')} too short"] if report.broken else []
    if report.contradictions:
        parts.append(f"the archive contradicts the ledger at {counted(report.contradictions, 'host')}")
    return f"{start}: {', and '.join(parts)}"
