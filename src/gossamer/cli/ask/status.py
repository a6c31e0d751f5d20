"""`gossamer status`: what a collection holds and how its crawl is doing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from gossamer.archive.directories import DiskStatus
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import console, figures
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.system import CollectionStatus, status_of
from gossamer.monitor.system import size
from gossamer.store.address import shown
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster
from gossamer.values.format import as_json, counted, fitted, harmless
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.workers.protocol import in_words

COUNTED = {
    "pages": "pages",
    "captures": "captures in the archive",
    "known": "known URLs",
    "queued": "waiting",
    "leased": "fetches in progress",
    "hosts": "hosts",
}


def status(*, dir: Dir = DEFAULT, json: Json = False) -> int:
    directory = existing(dir)
    found = status_of(directory, config_of(dir).settings, outside_of(directory))
    if json:
        print(as_json(in_json(found)))
    else:
        console().print(drawn(found, dir))
    return 0


def in_json(found: CollectionStatus) -> dict[str, object]:
    marks, old = found.damaged, found.droppable
    always: dict[str, object] = {name: getattr(found.counts, name) for name in COUNTED}
    always |= {"outcomes": found.counts.by_reason, "processes": found.processes, "hints": found.hints}
    optional = {
        "views": found.views or None,
        "forgetting": found.forgetting or None,
        "damaged": marks.marked or None,
        "unacknowledged": marks.open if marks.marked else None,
        "disks": found.disks or None,
        "backlog": {one.view: one._asdict() for one in found.backlog} or None,
        "set_aside": [one._asdict() for one in found.set_aside] or None,
        "droppable": {"records": old.records, "bytes": old.freed_bytes} if old is not None else None,
    }
    return always | {"sandbox": found.sandbox} | {name: value for name, value in optional.items() if value is not None}


def drawn(found: CollectionStatus, dir: Path) -> Table:
    called, is_shared = shown(dir), is_cluster(Directory(dir))
    table, marks, old = figures(title=called), found.damaged, found.droppable
    for name, label in COUNTED.items():
        number = getattr(found.counts, name)
        how = f" (gossamer export pages --dir {called})" if name == "pages" else ""
        table.add_row(f"{number:,}", fitted(label, number) + how)
    if Directory(dir).database.is_file() and not is_shared:
        table.add_row("", "counted in the database: with all directories that share it", style="dim")
    for reason, number in sorted(found.counts.by_reason.items(), key=lambda one: -one[1]):
        table.add_row(f"{number:,}", f"{reason}: {IN_WORDS[Reason(reason)]}", style="dim")
    if found.counts.by_reason:
        table.add_row("", f"which URLs: gossamer export outcomes --reason REASON --dir {called}", style="dim")
    if old is not None and old.records:
        says = f"old versions that `gossamer compact` would delete ({old.freed_bytes / 1e6:,.1f} MB)"
        table.add_row(f"{old.records:,}", says)
    if marks.marked:
        advice = f": `gossamer verify --dir {called}` says what to do" if marks.open else ", acknowledged"
        table.add_row(f"{marks.marked:,}", f"damaged records in the archive{advice}")
    for view in found.views:
        table.add_row("", f"{view.name}: {view.error}")
    for one in found.backlog:
        if one.records or one.rebuild_records:
            since = f", the oldest for {one.age_s:,.0f} s" if one.records else ""
            table.add_row(f"{one.records + one.rebuild_records:,}", f"records that wait for {one.view}{since}")
    for aside in found.set_aside:
        where = f"{aside.volume}, records {aside.first} to {aside.beyond - 1}"
        table.add_row("", f"set aside for {aside.view}: {where}: {harmless(aside.why)}")
    for name in found.forgetting:
        table.add_row("", f"forgetting {harmless(name)} is not finished: `gossamer forget --dir {called}` continues it")
    for disk in found.disks:
        table.add_row(size(disk.free_bytes), disk_in_words(disk))
    for line in at_work_in_words(found.processes):
        table.add_row("", line)
    table.add_row("", f"sandbox: {in_words(found.sandbox) if found.sandbox else 'no worker could be started'}")
    for hint in found.hints:
        table.add_row(hint.severity, Text.assemble((hint.words, "bold"), f" {hint.fix}"))
    return table


def disk_in_words(disk: DiskStatus) -> str:
    held = f"free of {size(disk.total_bytes)} in {disk.directory}: {counted(disk.volumes, 'volume')}"
    if disk.state != "there":
        return f"in {disk.directory}: {'away' if disk.state == 'away' else 'it holds another collection'}"
    return held if disk.is_used else f"{held}, no longer in archive.directories"


def at_work_in_words(processes: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The processes of the collection, and what an idle crawl is waiting for."""
    for process in processes:
        yield f"{process['name']} running (pid {process['pid']}), last heartbeat {process['silent_s']} s ago"
        if isinstance(waits := process.get("waits"), dict):
            yield harmless(str(waits.get("says", "")))
    if not processes:
        yield "no process is running on it"
