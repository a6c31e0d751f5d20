"""New seeds and options for a directory that is not being crawled, or for a running cluster."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.tell import silent
from gossamer.collection.cluster.settings import checked
from gossamer.config.settings import Settings
from gossamer.crawler.commands import idle_frontier
from gossamer.crawler.seeds import store_seeds
from gossamer.frontier.known import known
from gossamer.frontier.rows import UrlKeys
from gossamer.rules.canonical import identity_of, stripped
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.documents import crawlers
from gossamer.store.options import keep_options, stored_in
from gossamer.store.state import open_database
from gossamer.store.statements import State, StateWriter
from gossamer.values.link import How, Offer
from gossamer.values.url import Url

KEYS = UrlKeys(identity_of)


class WorkAdded(msgspec.Struct, frozen=True):
    """What a cluster was given."""

    seeds: int
    new: int
    """Of the seeds: URLs that were not known."""
    settings: tuple[str, ...]
    """Those that were changed."""
    crawlers: int
    """How many crawl at this moment."""
    waiting: int
    """URLs in the queue now."""


async def add_work(
    directory: Directory, settings: Settings, seeds: Sequence[Url], flags: Mapping[str, object], outside: Outside
) -> WorkAdded:
    """Store flags as settings of the cluster, and seeds; offer the seeds. REQUIRES: the seeds may be fetched."""
    stored = {name: option.value for name, option in stored_in(directory.root).items()}
    changed = {name: value for name, value in flags.items() if value is not None and stored.get(name) != value}
    checked(stored | changed)
    await keep_options(directory, "", changed, outside, has_seeds=bool(seeds))
    async with open_database(directory, outside.clock, silent) as database:
        running, new = await database.read(crawlers), 0
        if seeds:
            new = await database.read(partial(_unknown, seeds))
            await seeds_offered(database, seeds, settings.crawl.scope, settings, outside)
        waiting = (await database.read(tallies.counts)).queued
    return WorkAdded(len(seeds), new, tuple(sorted(changed)), running, waiting)


async def seeds_offered(
    database: StateWriter, seeds: Sequence[Url], reach: str, settings: Settings, outside: Outside
) -> None:
    """Store seeds, and put them in the queue. REQUIRES: no crawl of this directory runs, or it is a cluster."""
    await store_seeds(database, seeds, reach)
    async with idle_frontier(database, settings, outside) as frontier:
        await frontier.offer([Offer(seed, How.SEED) for seed in seeds])
        await frontier.revive(seeds)


def _unknown(seeds: Sequence[Url], state: State) -> int:
    return sum(known(state, seed, KEYS) is None for seed in dict.fromkeys(map(stripped, seeds)))
