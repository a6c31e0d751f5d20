"""What `gossamer crawl` does with the address of a cluster: it adds options and seeds; nodes crawl."""

from collections.abc import Mapping, Sequence

import uvloop

from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.cli.output import note
from gossamer.collection.cluster.intake import WorkAdded, add_work
from gossamer.config.settings import Settings
from gossamer.crawler.seeds import admitted
from gossamer.fetch.dns import real_network
from gossamer.store.address import shown
from gossamer.store.directory import Directory
from gossamer.values.format import as_json, counted
from gossamer.values.url import Url


def add_to_cluster(
    directory: Directory,
    settings: Settings,
    seeds: Sequence[Url],
    flags: Mapping[str, object],
    outside: Outside,
    *,
    is_done: bool,
    json: bool,
) -> int:
    """Raises ConfigError if there is nothing to add, and nothing `is_done` yet."""
    address = shown(directory.root)
    if not seeds and all(value is None for value in flags.values()):
        if is_done:
            return 0
        raise ConfigError(
            f"nodes crawl a cluster: gossamer node {address}. To give it work: gossamer crawl URL --dir {address}"
        )
    added = uvloop.run(_added(directory, settings, seeds, flags, outside))
    print(as_json(added) if json else in_words(added, address))
    return 0


async def _added(
    directory: Directory, settings: Settings, seeds: Sequence[Url], flags: Mapping[str, object], outside: Outside
) -> WorkAdded:
    accepted, left_out = await admitted(seeds, settings, real_network(outside).resolver)
    note(*(f"rejected: {words}" for words in left_out))
    return await add_work(directory, settings, accepted, flags, outside)


def in_words(added: WorkAdded, address: str) -> str:
    lines = []
    if added.settings:
        lines.append(f"settings changed: {', '.join(added.settings)}")
    if added.seeds:
        lines.append(f"{counted(added.seeds, 'seed')} added, {added.new:,} of them new; {added.waiting:,} URLs wait")
    if added.crawlers:
        lines.append(
            f"{counted(added.crawlers, 'crawler')} of the cluster at work: see gossamer status --dir {address}"
        )
    else:
        lines.append(f"No node crawls this cluster now. Start one: gossamer node {address}")
    return "\n".join(lines)
