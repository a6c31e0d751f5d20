"""`gossamer export`: a collection in formats other programs read."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.exports import write_file, write_out
from gossamer.store.directory import DEFAULT
from gossamer.values.format import counted
from gossamer.values.outcome import GROUPS, Reason

UNITS = {
    "nquads": "fact", "jsonl": "page", "text": "page", "warc": "volume", "pages": "page", "outcomes": "outcome",
    "urls": "known URL", "captures": "capture",
}  # fmt: skip


def export(
    what: Annotated[
        Literal["nquads", "jsonl", "text", "warc", "pages", "outcomes", "urls", "captures"],
        Parameter(
            help="Facts (nquads); pages with text, links and facts, one JSON object per line; plain text; the archive; "
            "tables (CSV) of all pages, the outcome of each URL fetched or refused, known URLs, or captures."
        ),
    ],
    *,
    reason: Annotated[
        tuple[str, ...],
        Parameter(help="outcomes: only this one: a reason code, or found, redirected, missing, refused, failed."),
    ] = (),
    dir: Dir = DEFAULT,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="A file; standard output if not given.")] = None,
) -> int:
    directory, reasons = existing(dir), reasons_of(reason)
    outside = with_archive(directory, real_outside())
    if reasons and what != "outcomes":
        raise ConfigError("--reason filters outcomes: gossamer export outcomes --reason failed")
    quiet = out is None and sys.stdout.isatty()
    with Progress(f"writing {what}", outside.clock, quiet=quiet) as progress:
        if out is None:
            written = asyncio.run(write_out(what, directory, outside, sys.stdout.buffer.write, progress.show, reasons))
            sys.stdout.buffer.flush()
        else:
            written = asyncio.run(write_file(what, directory, outside, out, progress.show, reasons))
    note(f"{counted(written.count, UNITS[what])} written")
    return report_damage(written.damage, dir, is_skipped=True)


def reasons_of(names: tuple[str, ...]) -> frozenset[Reason]:
    """The reasons of outcomes and of groups of outcomes."""
    if unknown := [name for name in names if name not in GROUPS and name not in set(Reason)]:
        raise ConfigError(f"unknown outcome “{unknown[0]}”; choose from {', '.join([*GROUPS, *Reason])}")
    return frozenset(reason for name in names for reason in GROUPS.get(name) or (Reason(name),))
