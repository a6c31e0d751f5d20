"""`gossamer compact`: deletes old versions of pages from the archive, and frees their disk space."""

import asyncio
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance import compact as compaction
from gossamer.collection.maintenance.cluster.erasure import compact_on_cluster
from gossamer.collection.maintenance.compact import Compacted
from gossamer.config.slices import Retain, retain_of
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster
from gossamer.values.format import as_json, counted


def compact(
    *,
    dir: Dir = DEFAULT,
    keep: Annotated[
        str | None, Parameter(help="all, last:N or thinned; the setting archive.retain if not given.")
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Only show what would be deleted; also during a crawl.")] = False,
    json: Json = False,
) -> int:
    directory = existing(dir)
    outside = with_archive(directory, real_outside())
    settings = config_of(dir).settings
    words = keep or settings.archive.retain
    try:
        retain = retain_of(words)
    except ValueError as trouble:
        raise ConfigError(f"--keep: {trouble}") from None
    if is_cluster(directory):
        done = compacted_shared(directory, retain, dry_run, outside)
    elif dry_run:
        done = compaction.compaction_plan(directory, retain, outside)
    else:
        with Progress("reading the catalogue", outside.clock) as progress:
            done = asyncio.run(compaction.compact(directory, retain, settings.agent, outside, silent, progress.show))
    if json:
        print(as_json({"retain": words, "is_dry_run": dry_run, **figures_of(done)}))
    else:
        note(in_words(done, retain.kind == "all", dry_run))
    return report_damage(done.damaged, dir)


def compacted_shared(directory: Directory, retain: Retain, is_dry_run: bool, outside: Outside) -> Compacted:
    """On a cluster."""
    if is_dry_run:
        return compaction.compaction_plan(directory, retain, outside)
    with Progress("reading the catalogue", outside.clock) as progress:
        return asyncio.run(compact_on_cluster(directory, retain, outside, silent, progress.show))


def figures_of(done: Compacted) -> dict[str, object]:
    found = {"records": done.records, "bytes": done.freed_bytes, "volumes": done.volumes, "kept": done.kept}
    return {**found, **({"damaged": done.damaged} if done.damaged else {})}


def in_words(done: Compacted, keeps_all: bool, is_dry_run: bool) -> str:
    if keeps_all:
        return (
            "everything is kept, so nothing is deleted. Choose what to keep with --keep last:5 or --keep thinned, "
            "or permanently with archive.retain in gossamer.toml"
        )
    if not done.records:
        return "nothing to delete: every capture is to be kept"
    records, volumes = counted(done.records, "record"), counted(done.volumes, "volume")
    room = f"{done.freed_bytes / 1e6:,.1f} MB"
    if is_dry_run:
        return f"{records} would be deleted, {room} in {volumes}"
    return f"{records} deleted, {room} freed, {volumes} rewritten"
