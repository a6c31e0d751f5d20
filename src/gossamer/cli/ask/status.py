"""`gossamer status`: how a collection is, from any terminal, while the crawl runs or after it."""

import asyncio
import json as json_format
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.maintenance.compact import Compacted, look_ahead
from gossamer.collection.maintenance.view_check import unusable
from gossamer.collection.system import Watch
from gossamer.config.settings import Settings
from gossamer.config.slices import retain_of
from gossamer.monitor.control import Control, at_work
from gossamer.store import damage, forgotten, tallies
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import open_state
from gossamer.values.format import fitted, harmless
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Barriers, Limits, echo, in_words

NUMBERED = ("captures in the archive", "known URLs", "waiting", "fetches in progress", "hosts")
MOST_LOOKED_THROUGH = 200_000
"""Captures; a second's work."""


def status(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    settings = config_of(dir).settings
    with closing(open_state(directory)) as state:
        counts = tallies.counts(state)
        marks = damage.counts(state)
        unended = [one.name for one in forgotten.every(state) if one.done_at is None]
    views = list(unusable(directory, outside, counts.pages))
    old = droppable(directory, settings, counts.captures, outside)
    with Control(directory.control, outside.clock) as control:
        beats = control.beats()
        system = Watch(directory, settings, outside, control).system()
    processes = at_work(beats, outside)
    held = asyncio.run(barriers_here(outside))
    numbers = {name: getattr(counts, name) for name in ("pages", "captures", "known", "queued", "leased", "hosts")}
    if json:
        hints = msgspec.to_builtins(system.hints)
        told = {**numbers, "outcomes": counts.by_reason, "processes": processes, "hints": hints}
        told["sandbox"] = None if held is None else msgspec.to_builtins(held)
        told |= {"views": msgspec.to_builtins(views)} if views else {}
        told |= {"forgetting": unended} if unended else {}
        told |= {"damaged": marks.marked, "unacknowledged": marks.open} if marks.marked else {}
        told |= {"droppable": {"records": old.records, "bytes": old.freed_bytes}} if old is not None else {}
        print(json_format.dumps(told, indent=2))
        return 0
    table = Table(show_header=False, box=None, title=str(dir), title_justify="left")
    table.add_column(justify="right", style="bold")
    table.add_column()
    for number, says in zip(numbers.values(), ("pages", *NUMBERED), strict=True):
        link = f" (gossamer export pages --dir {dir})" if says == "pages" else ""
        table.add_row(f"{number:,}", fitted(says, number) + link)
    for reason, number in sorted(counts.by_reason.items(), key=lambda one: -one[1]):
        table.add_row(f"{number:,}", f"{reason}: {IN_WORDS[Reason(reason)]}", style="dim")
    if counts.by_reason:
        table.add_row("", f"which URLs: gossamer export visits --reason REASON --dir {dir}", style="dim")
    if old is not None and old.records:
        says = f"old versions that `gossamer compact` would delete ({old.freed_bytes / 1e6:,.1f} MB)"
        table.add_row(f"{old.records:,}", says)
    if marks.marked:
        mend = f": `gossamer verify --dir {dir}` says what to do" if marks.open else ", acknowledged"
        table.add_row(f"{marks.marked:,}", f"damaged records in the archive{mend}")
    for view in views:
        table.add_row("", f"{view.name}: {view.fault}")
    for name in unended:
        table.add_row("", f"forgetting {harmless(name)} is not finished: `gossamer forget --dir {dir}` continues it")
    for line in at_work_in_words(processes):
        table.add_row("", Text(line))
    table.add_row("", f"sandbox: {in_words(held) if held else 'no worker could be started'}")
    for hint in system.hints:
        table.add_row(hint.severity, Text.assemble((hint.words, "bold"), f" {hint.mend}"))
    Console().print(table, highlight=False)
    return 0


def at_work_in_words(processes: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Who works on the collection, and what a crawl that has nothing to do waits for."""
    for process in processes:
        yield f"{process['name']} running (pid {process['pid']}), last heartbeat {process['silent_s']} s ago"
        if isinstance(waits := process.get("waits"), dict):
            yield harmless(str(waits.get("says", "")))
    if not processes:
        yield "no process is running on it"


async def barriers_here(outside: Outside) -> Barriers | None:
    """Which barriers a worker started now can put up; None when none can be started."""
    async with Pool(echo, 1, Limits(), outside.processes, outside.clock, silent) as pool:
        try:
            await pool.call(b"")
        except WorkerLost:
            return None
        return pool.barriers


def droppable(directory: Directory, settings: Settings, captures: int, outside: Outside) -> Compacted | None:
    """What the retention that is set would drop now; None: all is kept, or there is too much to look through."""
    retain = retain_of(settings.archive.retain)
    return None if retain.kind == "all" or captures > MOST_LOOKED_THROUGH else look_ahead(directory, retain, outside)
