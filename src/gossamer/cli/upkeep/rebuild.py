"""`gossamer rebuild`: rebuilds the views, or a lost state.db, from the archive."""

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import with_archive
from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import CRASH_VARIABLE, crashing, silent
from gossamer.cli.flags import Dir
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance import cluster_views
from gossamer.collection.maintenance.lost_state import restore_state
from gossamer.collection.maintenance.rebuild import SAYS, build_again
from gossamer.crawler.damage import DAMAGED
from gossamer.crawler.seeds import checked_seeds
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster
from gossamer.values.format import counted


def rebuild(
    *,
    dir: Dir = DEFAULT,
    fresh: Annotated[bool, Parameter(help="Do not continue an interrupted rebuild: start over.")] = False,
    discard_old: Annotated[
        bool, Parameter(help="Delete the current views first, if there is no space for both.")
    ] = False,
    state: Annotated[bool, Parameter(help="Rebuild a lost or damaged state.db, and leave the views alone.")] = False,
    seed: Annotated[tuple[str, ...], Parameter(help="With --state: a seed of the crawl, if the seeds were lost.")] = (),
    set_aside: Annotated[
        bool, Parameter(help="On a cluster: try again only what its indexers have set aside as damaged.")
    ] = False,
) -> int:
    if is_cluster(Directory(dir)):
        return rebuild_cluster(Directory(dir), set_aside)
    if set_aside:
        raise ConfigError("--set-aside is for clusters")
    if state:
        return rebuild_state(Directory(dir), seed)
    agent = config_of(dir).settings.agent
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    directory = existing(dir)
    outside = with_archive(directory, real_outside())
    with Progress(SAYS, outside.clock) as progress:
        made = asyncio.run(build_again(directory, agent, outside, tell, fresh, discard_old, progress.show))
    code = report_damage(made.damage, dir, is_skipped=True)
    resumed = ", continuing an interrupted rebuild" if made.is_resumed else ""
    read = f"; {counted(made.read_again, 'capture')} that could not be read before can be read now"
    note(
        f"search, facts and links are rebuilt, from {made.pages:,} captures of pages{resumed}"
        f"{read if made.read_again else ''}"
    )
    return code


def rebuild_cluster(directory: Directory, is_retry: bool) -> int:
    outside = with_archive(directory, real_outside())
    if is_retry:
        number = asyncio.run(cluster_views.retry(directory, outside))
        note(f"the indexers try {counted(number, 'segment')} again")
        return 0
    with Progress(SAYS, outside.clock) as progress:
        number = asyncio.run(cluster_views.make_again(directory, outside, says=progress.show))
    note(f"search, facts and links are made again, from {counted(number, 'segment')}, counted for each view")
    _, aside = cluster_views.waiting(directory)
    if aside:
        note(f"set aside, try again with --set-aside: {cluster_views.aside_in_words(aside)}")
    return DAMAGED if aside else 0


def rebuild_state(directory: Directory, starts: Sequence[str]) -> int:
    outside, settings = real_outside(), config_of(directory.root).settings
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    with Progress("reading the archive", outside.clock) as progress:

        def says(words: str) -> None:
            progress.show(words)
            tell("state.progress")

        made = asyncio.run(restore_state(directory, settings, checked_seeds(starts), outside, says))
    note(
        f"state.db is rebuilt: {counted(made.captures, 'capture')}, {counted(made.pages, 'page')}, "
        f"{counted(made.known, 'known URL')}, {made.queued:,} of them waiting, {counted(made.seeds, 'seed')}"
    )
    if made.set_aside:
        note(f"the damaged file was moved to {directory.root / made.set_aside}")
    note(*(f"not found: {words}" for words in made.missing))
    note("not in any archive, and lost: " + "; ".join(made.gone))
    return report_damage(made.damaged, directory.root) or (DAMAGED if made.missing else 0)
