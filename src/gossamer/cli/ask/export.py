"""`gossamer export`: what a collection holds, in formats other programs read."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.exports import write_file, write_out
from gossamer.crawler.damage import DAMAGED
from gossamer.store.directory import DEFAULT
from gossamer.values.outcome import GROUPS, Reason

UNITS = {
    "nquads": "facts", "jsonl": "pages", "text": "pages", "warc": "volumes", "pages": "pages", "visits": "visits",
    "addresses": "known URLs", "captures": "captures",
}  # fmt: skip

MOST_NAMED = 20


def export(
    what: Annotated[
        Literal["nquads", "jsonl", "text", "warc", "pages", "visits", "addresses", "captures"],
        Parameter(
            help="Facts; pages with text, links and facts, one JSON object per line; plain text; the archive; "
            "tables (CSV) of all pages, of all URLs fetched, of all known, or of all captures."
        ),
    ],
    *,
    reason: Annotated[
        tuple[str, ...],
        Parameter(help="visits: only this outcome: a reason code, or found, redirected, missing, refused, failed."),
    ] = (),
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="A file; standard output if not given.")] = None,
) -> int:
    directory, outside, reasons = existing(dir), real_outside(), wanted_ends(reason)
    if reasons and what != "visits":
        raise ConfigError("--reason filters visits: gossamer export visits --reason failed")
    quiet = out is None and sys.stdout.isatty()
    with Working(f"writing {what}", outside.clock, quiet=quiet) as progress:
        if out is None:
            written = asyncio.run(write_out(what, directory, outside, sys.stdout.buffer.write, progress.says, reasons))
            sys.stdout.buffer.flush()
        else:
            written = asyncio.run(write_file(what, directory, outside, out, progress.says, reasons))
    unit = UNITS[what].removesuffix("s") if written.count == 1 else UNITS[what]
    print(f"{written.count:,} {unit} written", file=sys.stderr)
    return told(written.damage)


def told(damage: list[str]) -> int:
    """Names what was left out; the exit code."""
    for line in damage[:MOST_NAMED]:
        print(f"skipped: {line}", file=sys.stderr)
    if damage:
        count = "1 damaged record was" if len(damage) == 1 else f"{len(damage):,} damaged records were"
        print(f"{count} skipped. `gossamer verify` lists what is damaged, and can repair it.", file=sys.stderr)
    return DAMAGED if damage else 0


def wanted_ends(named: tuple[str, ...]) -> frozenset[Reason]:
    """Reasons, and groups of them, by name; none: all."""
    wanted: set[Reason] = set()
    for name in named:
        if name not in GROUPS and name not in set(Reason):
            raise ConfigError(f"unknown outcome “{name}”; possible are {', '.join([*GROUPS, *Reason])}")
        wanted |= set(GROUPS.get(name) or (Reason(name),))
    return frozenset(wanted)
