"""`gossamer cluster export`: a copy of a cluster in a directory."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.tell import silent
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.cluster.exports import export_cluster
from gossamer.collection.maintenance.rebuild import build_again
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.values.format import as_json, counted


def export(
    address: ClusterAddress,
    directory: Annotated[Path, Parameter(name="DIR", help="A directory that does not exist yet, or is empty.")],
    *,
    views: Annotated[bool, Parameter(help="Make search and facts too.")] = True,
    json: Json = False,
) -> int:
    source, target, outside = existing(address), Directory(directory), real_outside()
    with Progress("reading the cluster", outside.clock) as progress:
        done = asyncio.run(export_cluster(source, target, outside, silent, progress.show))
        if views:
            agent = config_of(target.root).settings.agent
            asyncio.run(build_again(target, agent, outside, silent, says=progress.show))
    if json:
        print(as_json(done))
    else:
        note(f"{counted(done.captures, 'capture')} in {counted(done.volumes, 'volume')} copied to {directory}")
        note(*([] if views else [f"Make it searchable with: gossamer rebuild --dir {directory}"]))
    return report_damage(done.damaged, directory)
