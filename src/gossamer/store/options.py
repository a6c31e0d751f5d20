"""The settings of one collection: defaults, gossamer.toml, the options it was given before, variables, flags.

A collection may come from somebody else. So what its files ask for that opens a door (`config.GUARDED`) counts only if
the user of this machine has given it for this directory, as a flag or with `gossamer trust`. A settings file that is
named with --config is the user's own.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from gossamer.base.clock import in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import silent
from gossamer.config.load import GUARDED, Config, Withheld, load, named_file
from gossamer.store.directory import Directory, lock_directory, refuse_lost_state
from gossamer.store.given import Option, drop_option, put_options, put_seeds, stored_options, stored_seeds
from gossamer.store.state import choose_database, open_database, open_state
from gossamer.store.statements import State
from gossamer.store.trust import allow_options, are_allowed

T = TypeVar("T")
SCOPE = "crawl.scope"
STORED = frozenset(
    {
        "contact",
        "crawl.keep",
        "crawl.max_depth",
        "crawl.max_pages",
        SCOPE,
        "fetch.allow_addresses",
        "politeness.delay_s",
    }
)
"""Flags of a crawl that belong to its collection; whatever else its database names is ignored."""


def config_of(root: Path, config: Path | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """`config`: a settings file that a person named."""
    given = {
        name: (option.value, f"this collection, given on {in_words(option.given_at)[:10]}")
        for name, option in stored_in(root).items()
    }
    return load(
        named_file(config, root),
        os.environ,
        flags or {},
        stored=given,
        allows=lambda name, value: are_allowed(root, {name: value}),
        is_own_file=config is not None,
    )


def stored_in(root: Path) -> dict[str, Option]:
    """Options that crawls of this collection were given; none when its database cannot be read."""
    with suppress(sqlite3.Error, GossamerError):
        return readable_options(root)
    return {}


def readable_options(root: Path) -> dict[str, Option]:
    """The same. Raises GossamerError, saying what to do, when the collection's database is lost or cannot be read."""
    directory = Directory(root)
    refuse_lost_state(directory)
    if not directory.is_begun:
        return {}
    with closing(open_state(directory)) as connection:
        return {name: option for name, option in stored_options(connection).items() if name in STORED}


async def keep_options(
    directory: Directory, database: str, flags: Mapping[str, object], outside: Outside, has_seeds: bool
) -> None:
    """Later crawls of the collection go by these flags too. A scope that is given without seeds is that of every seed
    there is. `database`: for `choose_database`. Raises DirectoryBusy while another process writes."""
    given = {name: value for name, value in flags.items() if value is not None and name in STORED}
    allow_options(directory.root, {name: value for name, value in given.items() if name in GUARDED})
    known = stored_in(directory.root)
    new = {name: value for name, value in given.items() if name not in known or known[name].value != value}
    reach = None if has_seeds else given.get(SCOPE)
    if not new and reach is None:
        return

    def write(connection: State) -> None:
        put_options(connection, new, outside.clock.now())
        if reach is not None:
            put_seeds(connection, [seed for seed, _ in stored_seeds(connection)], str(reach))

    await _written(directory, database, outside, write)


async def unset_option(directory: Directory, name: str, outside: Outside) -> bool:
    """Whether it was set."""
    return await _written(directory, "", outside, lambda connection: drop_option(connection, name))


async def _written(directory: Directory, url: str, outside: Outside, work: Callable[[State], T]) -> T:
    lock = lock_directory(directory, outside, "config")
    try:
        choose_database(directory, url, outside.files)
        async with open_database(directory, outside.clock, silent) as database:
            return await database.run(work)
    finally:
        lock.release()


def withheld_in_words(withheld: Sequence[Withheld], root: Path) -> list[str]:
    """What a collection asks for and does not get, and how it would."""
    if not withheld:
        return []
    asked = [f"{one.origin} of this collection asks for {one.shown}: not applied" for one in withheld]
    return [
        *asked,
        f"If you want that, and know where this collection comes from: gossamer trust --dir {root} --allow",
    ]
