"""`gossamer compact`: drop old versions of pages from the archive, and give the disk their room back."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.compact import Compacted, look_ahead
from gossamer.collection.maintenance.compact import compact as compact_now
from gossamer.config.slices import Retain, retain_of
from gossamer.crawler.damage import tell_damage
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.values.format import as_json, counted


def compact(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    keep: Annotated[
        str | None, Parameter(help="all, last:N or thinned; the setting archive.retain if not given.")
    ] = None,
    dry_run: Annotated[bool, Parameter(help="Only show what would be deleted; also during a crawl.")] = False,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    directory = existing(dir)
    settings = config_of(dir).settings
    words = keep or settings.archive.retain
    try:
        retain = retain_of(words)
    except ValueError as trouble:
        raise ConfigError(f"--keep: {trouble}") from None
    done = _done(directory, retain, settings.agent, dry_run)
    if json:
        print(as_json({"retain": words, "is_dry_run": dry_run, **_figures(done)}))
    else:
        Console(stderr=True).print(said(done, retain, dry_run), highlight=False, markup=False, soft_wrap=True)
    return tell_damage(done.damaged, dir)


def _done(directory: Directory, retain: Retain, agent: str, dry_run: bool) -> Compacted:
    outside = real_outside()
    if dry_run:
        return look_ahead(directory, retain, outside)
    with Working("reading the catalogue", outside.clock) as progress:
        return asyncio.run(compact_now(directory, retain, agent, outside, silent, progress.says))


def _figures(done: Compacted) -> dict[str, object]:
    figures: dict[str, object] = {"records": done.records, "bytes": done.freed_bytes, "volumes": done.volumes}
    return {**figures, "kept": done.kept, **({"damaged": done.damaged} if done.damaged else {})}


def said(done: Compacted, retain: Retain, dry_run: bool) -> str:
    if retain.kind == "all":
        return (
            "everything is kept, so nothing is deleted. Choose what to keep with --keep last:5 or --keep thinned, "
            "or permanently with archive.retain in gossamer.toml"
        )
    if not done.records:
        return "nothing to delete: every capture is to be kept"
    room = f"{done.freed_bytes / 1e6:,.1f} MB"
    if dry_run:
        return f"{counted(done.records, 'record')} would be deleted, {room} in {counted(done.volumes, 'volume')}"
    return f"{counted(done.records, 'record')} deleted, {room} freed, {counted(done.volumes, 'volume')} rewritten"
