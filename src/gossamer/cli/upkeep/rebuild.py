"""`gossamer rebuild`: make the views again from the archive, which is the truth."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import real_outside
from gossamer.base.tell import CRASH_VARIABLE, crashing, silent
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.lost_state import restore_state
from gossamer.collection.maintenance.rebuild import SAYS, Rebuilt, build_again
from gossamer.config.settings import Settings
from gossamer.crawler.damage import DAMAGED, MOST_NAMED, tell_damage
from gossamer.crawler.seeds import checked_seeds
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.values.format import counted


def rebuild(
    *,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    fresh: Annotated[bool, Parameter(help="Do not continue an interrupted rebuild: start over.")] = False,
    discard_old: Annotated[
        bool, Parameter(help="Delete the current views first, if there is no space for both.")
    ] = False,
    state: Annotated[bool, Parameter(help="Rebuild a lost or damaged state.db, and leave the views alone.")] = False,
    seed: Annotated[tuple[str, ...], Parameter(help="With --state: where the crawl started, if that was lost.")] = (),
) -> int:
    settings = config_of(dir).settings
    if state:
        return _state_again(Directory(dir), settings, seed)
    agent = settings.agent
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    directory, outside = existing(dir), real_outside()
    with Working(SAYS, outside.clock) as progress:
        made = asyncio.run(build_again(directory, agent, outside, tell, fresh, discard_old, progress.says))
    resumed = ", continuing an interrupted rebuild" if made.is_resumed else ""
    says = f"search, facts and links are rebuilt, from {made.pages:,} captures of pages{resumed}"
    if made.read_again:
        says += f"; {counted(made.read_again, 'capture')} that could not be read before can be read now"
    for line in [*damage_told(made, dir), says]:
        Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
    return DAMAGED if made.damage else 0


def damage_told(made: Rebuilt, dir: Path) -> list[str]:
    lines = [f"damaged: {words}" for words in made.damage[:MOST_NAMED]]
    if made.damage:
        records = counted(len(made.damage), "damaged record")
        lines.append(f"{records} skipped; `gossamer verify --dir {dir}` says what to do")
    return lines


def _state_again(directory: Directory, settings: Settings, starts: Sequence[str]) -> int:
    outside, console = real_outside(), Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    tell = crashing(silent, os.environ.get(CRASH_VARIABLE))
    with Working("reading the archive", outside.clock) as progress:

        def says(words: str) -> None:
            progress.says(words)
            tell("state.progress")

        made = asyncio.run(restore_state(directory, settings, checked_seeds(starts), outside, says))
    console.print(
        f"state.db is rebuilt: {made.captures:,} captures, {made.pages:,} pages, {made.known:,} known URLs, "
        f"{made.queued:,} of them waiting, {counted(made.seeds, 'seed')}"
    )
    if made.set_aside:
        console.print(f"the damaged file was moved to {directory.root / made.set_aside}")
    for words in made.missing:
        console.print(f"not found: {words}")
    console.print("not in any archive, and lost: " + "; ".join(made.gone))
    return tell_damage(made.damaged, directory.root) or (DAMAGED if made.missing else 0)
