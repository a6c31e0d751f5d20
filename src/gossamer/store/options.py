"""What a collection was given.

Seeds, and the settings from defaults, gossamer.toml, stored options, variables, flags.

A collection may come from another person. So settings in its files that lower security (`config.GUARDED`) count only if
the user of this machine has given them for this directory, as a flag or with `gossamer trust`. A settings file named
with --config is the user's own.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.base.clock import Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.base.tell import silent
from gossamer.config.load import GUARDED, Config, Withheld, load, named_file
from gossamer.store.directory import Directory, lock_directory, refuse_lost_state
from gossamer.store.state import choose_database, is_cluster, open_database, open_state
from gossamer.store.statements import State
from gossamer.store.statements import load as load_sql
from gossamer.store.trust import allow_options, are_allowed
from gossamer.values.url import Url

T = TypeVar("T")
_SQL = load_sql("gossamer.store", "options.sql")
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
"""Flags of a crawl that are stored with its collection; other options in its database are ignored."""


class Option(msgspec.Struct, frozen=True):
    value: object
    """As in a settings file."""
    given_at: Instant


def config_of(root: Path, config: Path | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """`config`: a settings file that the user named."""
    kind = "cluster" if _is_cluster(root) else "collection"
    given = {
        name: (option.value, f"this {kind}, given on {in_words(option.given_at)[:10]}")
        for name, option in stored_in(root).items()
    }
    return load(
        named_file(config, root),
        os.environ,
        flags or {},
        stored=given,
        allows=lambda name, value: is_cluster(Directory(root)) or are_allowed(root, {name: value}),
        is_own_file=config is not None,
    )


def stored_in(root: Path) -> dict[str, Option]:
    """Options that crawls of this collection were given; none if its database cannot be read. A cluster has no other
    settings, so there this raises instead of answering with defaults."""
    try:
        return readable_options(root)
    except (sqlite3.Error, GossamerError):
        if _is_cluster(root):
            raise
        return {}


def _is_cluster(root: Path) -> bool:
    with suppress(GossamerError):
        return is_cluster(Directory(root))
    return False


def readable_options(root: Path) -> dict[str, Option]:
    """The same. Raises GossamerError, saying what to do, if the collection's database is lost or cannot be read."""
    directory = Directory(root)
    refuse_lost_state(directory)
    if not directory.is_begun:
        return {}
    is_shared = is_cluster(directory)  # a cluster has no other settings
    with closing(open_state(directory)) as connection:
        return {name: one for name, one in stored_options(connection).items() if is_shared or name in STORED}


async def keep_options(
    directory: Directory, database: str, flags: Mapping[str, object], outside: Outside, has_seeds: bool
) -> None:
    """Store flags, for later crawls of the collection too. A scope without seeds applies to all stored seeds.
    `database`: see `choose_database`. Raises DirectoryBusy while another process writes."""
    is_shared = is_cluster(directory)
    given = {name: value for name, value in flags.items() if value is not None and (is_shared or name in STORED)}
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
    with ExitStack() as held:
        if not is_cluster(directory):
            held.callback(lock_directory(directory, outside, "config").release)
            choose_database(directory, url, outside.files)
        async with open_database(directory, outside.clock, silent) as database:
            return await database.run(work)


def withheld_in_words(withheld: Sequence[Withheld], root: Path) -> list[str]:
    """Settings that a collection asks for and does not get, and how to allow them."""
    if not withheld:
        return []
    asked = [f"{one.origin} of this collection asks for {one.shown}: not applied" for one in withheld]
    return [
        *asked,
        f"If you want that, and know where this collection comes from: gossamer trust --dir {root} --allow",
    ]


# In the database.


def put_options(connection: State, given: Mapping[str, object], now: Instant) -> None:
    rows = [(name, msgspec.json.encode(value).decode(), now) for name, value in given.items()]
    connection.executemany(_SQL["option_put"], rows)


def stored_options(connection: State) -> dict[str, Option]:
    """By name. A value that cannot be decoded counts as not given."""
    found = {}
    for name, value, given_at in connection.execute(_SQL["options"]):
        try:
            found[name] = Option(msgspec.json.decode(value), given_at)
        except (msgspec.DecodeError, TypeError):
            continue
    return found


def drop_option(connection: State, name: str) -> bool:
    """Whether there was such an option."""
    return connection.execute(_SQL["option_drop"], (name,)).rowcount > 0


def judged_by(connection: State) -> dict[str, str]:
    """Digests of what refusals were last judged by."""
    return dict(connection.execute(_SQL["judged"]).fetchall())


def judge_by(connection: State, digests: Mapping[str, str]) -> None:
    connection.executemany(_SQL["judge_by"], digests.items())


def put_seeds(connection: State, urls: Iterable[Url], reach: str) -> None:
    """Store seeds, inside the caller's transaction; storing one again changes its reach."""
    connection.executemany(_SQL["seed_put"], [(seed.text, reach) for seed in urls])


def stored_seeds(connection: State) -> list[tuple[Url, str]]:
    return [(Url(text), reach) for text, reach in connection.execute(_SQL["seeds"])]
