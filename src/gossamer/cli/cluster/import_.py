"""`gossamer cluster import`: a collection in a directory grows into a cluster."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.tell import silent
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cli.output import Progress, note
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.cluster.imports import ClusterImport, import_directory
from gossamer.store.address import shown
from gossamer.values.format import as_json, counted


def import_(
    directory: Annotated[Path, Parameter(name="DIR", help="The data directory of a collection.")],
    address: ClusterAddress,
    *,
    json: Json = False,
) -> int:
    source, target, outside = existing(directory), existing(address), real_outside()
    with Progress("reading the directory", outside.clock) as progress:
        done = asyncio.run(import_directory(source, target, outside, silent, progress.show))
    print(as_json(done)) if json else note(*in_words(done, shown(address)))
    return 0


def in_words(done: ClusterImport, address: str) -> list[str]:
    already = f"; {done.already_here:,} were there already" if done.already_here else ""
    lines = [f"{counted(done.captures, 'capture')} copied, {done.archived_bytes / 1e6:,.1f} MB{already}"]
    if done.settings:
        lines.append(f"settings taken over: {', '.join(done.settings)}")
    if done.files:
        lines.append(f"files taken over: {', '.join(done.files)}")
    lines += [f"setting left out: {words}" for words in done.left_out]
    lines.append(f"Search and facts follow as nodes index it: gossamer status --dir {address}")
    return lines
