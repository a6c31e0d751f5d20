"""Removal of pages and hosts from a collection for good.

Frontier, archive, views, and what was learned of them.

It can be interrupted after every step. The request is stored first, and from then on nothing accepts these URLs; then
they are deleted from the views, so that they are no longer found; then the volumes are rewritten; then new views are
made and swapped in for the old ones, whose files still hold the deleted bytes. Everything else can be found all the
time. After an interruption `gossamer forget` without a name finishes it.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

import msgspec

from gossamer.archive.compaction import matching
from gossamer.archive.directories import refuse_away
from gossamer.base.clock import Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import Says, Tell, silent, unheard
from gossamer.collection.directory import locked
from gossamer.collection.maintenance import rebuild
from gossamer.collection.maintenance.compact import Compacted, compacted, compaction, planned, repair_archive
from gossamer.collection.maintenance.server_facts import remove_pages
from gossamer.collection.views import facts_server
from gossamer.crawler import learned as learned_file
from gossamer.crawler.damage import noting_damage
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier.sqlite.maintenance import forget as forget_addresses
from gossamer.monitor import chronicle
from gossamer.monitor.choice import control_of
from gossamer.monitor.supervisor import lock_views
from gossamer.rules.learned.traps import template_of
from gossamer.store import captures, forgotten
from gossamer.store.directory import LOG_NAME, Directory
from gossamer.store.forgotten import Forgotten, ForgottenEntry, is_like, scrub
from gossamer.store.state import open_database, open_state, refuse_shared_state
from gossamer.store.statements import State, StateWriter
from gossamer.values.page import empty_page_reading
from gossamer.values.url import Host, Url, url_of
from gossamer.views.facts.checkpoints import Checkpoints, newest
from gossamer.views.facts.store import Graph
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.place import words_writer

MOST_NAMED = 100
NOT_REACHED = (
    "backups of the collection, and files that were exported from it",
    "links of other pages that point there, with their words, and what other pages quote",
    "URLs that were first found there: they are pages of their own",
    "rules.txt, gossamer.toml, and the list of what was forgotten itself (`gossamer forget --list`)",
    "what disks and file systems keep of deleted files",
)
IN_DELETED_PARTS = (
    "the bytes of words and facts in deleted parts of index, graph and links.db, until `gossamer rebuild`"
)


class Erased(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    addresses: int
    """Known to the crawl before."""
    archive: Compacted
    pages: int | None = None
    """Captures of pages from which the views were rebuilt; None: they were not."""
    copies: tuple[str, ...] = ()
    """The first of the other URLs under which the same bytes are stored, and stay."""
    alike: tuple[str, ...] = ()
    """The first of the hosts that may have been meant too, and stay."""


class NotForgotten(NamedTuple):
    """What stays, although a user may expect otherwise."""

    copies: tuple[str, ...]
    alike: tuple[str, ...]


def entries_of(texts: Sequence[str], at: Instant) -> list[ForgottenEntry]:
    """What the user named: with a path it is a page, a bare name is a host."""
    found = []
    for text in texts:
        if "/" not in text:
            found.append(ForgottenEntry(_host_of(text), True, at))
        else:
            (url,) = checked_seeds([text])
            found.append(ForgottenEntry(url.text, False, at))
    return found


def _host_of(text: str) -> str:
    """The default port of http is not part of the name, like that of https."""
    url = url_of(f"https://{text.strip().removesuffix(':80')}/")
    if url is None or "@" in text:
        raise ConfigError(f"{text!r} is neither a host nor a URL: gossamer forget example.org, or https://...")
    return url.host.name


def unwanted(block: Forgotten) -> Callable[[str], bool]:
    """Whether a URL of our archive, where all are in canonical form, is one of those."""
    return lambda text: block.has(Url(text))


def erasure_plan(directory: Directory, entries: Sequence[ForgottenEntry], outside: Outside) -> Erased:
    """What `forget` would remove from the archive now; also while a crawl runs."""
    block = forgotten.block_of(entries)
    damage: dict[str, None] = {}
    with closing(open_state(directory)) as state:
        tell = noting_damage(silent, damage)
        deletions = matching(state, outside.files, directory.archive, unwanted(block), tell)
        remaining = not_forgotten(state, block)
    archive = msgspec.structs.replace(planned(deletions), damaged=tuple(damage))
    return Erased(tuple([one.name for one in entries]), 0, archive, None, *remaining)


def not_forgotten(connection: State, block: Forgotten) -> NotForgotten:
    copies = captures.copies_of(connection, map(Host, sorted(block.at)), unwanted(block))
    names = sorted({host.name for host in captures.hosts(connection)} - block.hosts) if block.hosts else []
    alike = [name for name in names if any(is_like(name, host) for host in block.hosts)]
    return NotForgotten(tuple(copies[:MOST_NAMED]), tuple(alike[:MOST_NAMED]))


async def forget(
    directory: Directory,
    entries: Sequence[ForgottenEntry],
    agent: str,
    outside: Outside,
    tell: Tell,
    says: Says = unheard,
    is_quick: bool = False,
) -> Erased:
    """Forgets these, and finishes what was begun before. Raises DirectoryBusy while another process writes.

    `is_quick`: they are deleted from the views, but the views are not rebuilt.
    """
    refuse_shared_state(directory, "forget", "other directories may share it, and their archives would keep the pages")
    damage: dict[str, None] = {}
    tell = noting_damage(tell, damage)
    with locked(directory, outside, "forget"):
        (await lock_views(directory, outside, "forget")).release()
        if not is_quick:
            rebuild.refuse_without_room(directory, outside)
        async with open_database(directory, outside.clock, tell) as database:
            await repair_archive(directory, database, outside, tell)
            refuse_away(outside.files, directory.archive, await database.read(captures.volume_names))
            begun = await database.run(partial(_begin, entries=entries))
            tell("forget.begun", names=len(begun.names))
            is_unwanted = unwanted(begun.block)
            deletions = await database.read(
                lambda connection: matching(connection, outside.files, directory.archive, is_unwanted, tell)
            )
            remaining = await database.read(partial(not_forgotten, block=begun.block))
            is_in_views = bool(deletions) or begun.is_resumed
            if is_in_views:
                await delete_from_views(directory, database, begun.block, agent, outside, tell, says)
                drop_derived(directory, outside)
                tell("forget.hidden")
            chronicle.forget(outside.files, directory.root, begun.block.hosts)
            rewritten = compacted(await compaction(directory, database, outside, tell).rewrite(deletions, says))
        tell("forget.dropped")
        pages = None
        if is_in_views and not is_quick:
            rebuilt = await rebuild.replace_views(directory, agent, outside, tell, is_fresh=True, says=says)
            pages = rebuilt.pages
            damage = dict.fromkeys(rebuilt.damage) or damage  # the earlier damage names volumes that no longer exist
        async with open_database(directory, outside.clock, tell) as database:
            await database.run(partial(forgotten.done, at=outside.clock.now()))
        scrub_databases(directory, outside)
        tell("forget.done")
        archive = msgspec.structs.replace(rewritten, damaged=tuple(damage))
        return Erased(begun.names, begun.addresses, archive, pages, *remaining)


class _Begun(NamedTuple):
    names: tuple[str, ...]
    block: Forgotten
    addresses: int
    is_resumed: bool
    """Some of it was begun before, and all of that is done again: the views may be incomplete."""


def _begin(connection: State, entries: Sequence[ForgottenEntry]) -> _Begun:
    is_resumed = any(one.done_at is None for one in forgotten.every(connection))
    forgotten.put(connection, entries)
    pending = [one for one in forgotten.every(connection) if one.done_at is None]
    block = forgotten.block_of(pending)
    addresses = forget_addresses(connection, block, lambda text: template_of(Url(text)))
    return _Begun(tuple([one.name for one in pending]), block, addresses, is_resumed)


async def delete_from_views(
    directory: Directory, database: StateWriter, block: Forgotten, agent: str, outside: Outside, tell: Tell, says: Says
) -> None:
    """Brings the views up to date first: one that lags would look for the rest of a volume that is rewritten."""
    rebuild.mark_finished(directory, outside)
    await rebuild.followed(directory, agent, outside, says)
    kept = await database.read(lambda c: [url for name in block.at for url in captures.urls_at(c, Host(name))])
    lock = await lock_views(directory, outside, "forget")
    try:
        remove_from_views(directory, [url for url in kept if block.has(url)], outside, tell)
    finally:
        lock.release()


def drop_derived(directory: Directory, outside: Outside) -> None:
    """Delete what else was made from the captures: unfinished views, the spool, what was learned of hosts, the log."""
    log = directory.root / LOG_NAME
    learned = directory.root / learned_file.NAME
    begun = [directory.root / name for name in rebuild.unfinished(directory, outside.files)]
    for path in [*begun, directory.spool, learned, log, log.with_name(log.name + ".before")]:
        outside.files.remove(path)


def scrub_databases(directory: Directory, outside: Outside) -> None:
    """Remove every trace from the two databases: rows, and what deleted rows have left in their files."""
    with control_of(directory, outside.clock, repairs=True) as control:
        control.clear("crawler")  # seeds added while it ran, hosts that were retired
    for path in (directory.state, directory.control):
        if path.is_file():
            scrub(path)


async def allow(directory: Directory, entries: Sequence[ForgottenEntry], outside: Outside, tell: Tell) -> list[str]:
    """They may be crawled and imported again. Returns those that were not forgotten."""
    with locked(directory, outside, "forget"):
        async with open_database(directory, outside.clock, tell) as database:
            return await database.run(lambda c: [one.name for one in entries if not forgotten.allow(c, one)])


def listed(directory: Directory) -> list[ForgottenEntry]:
    with closing(open_state(directory)) as state:
        return forgotten.every(state)


def remove_from_views(directory: Directory, urls: Sequence[Url], outside: Outside, tell: Tell) -> None:
    """REQUIRES: the indexer's lock, and up-to-date views."""
    files, now = outside.files, outside.clock.now()
    if (server := facts_server(directory, outside)) is not None:
        with closing(server):
            remove_pages(server, directory, urls, outside, tell)
    else:
        remove_from_store(directory, urls, outside, tell)
    words, links = words_writer(directory, files, outside.clock, tell), LinksWriter(directory.links, files, tell)
    words.open()
    links.open()
    try:
        for url in urls:
            words.remove(url)
        links.replace([empty_page_reading(url, 0, now) for url in urls])
        words.commit(words.position)
        words.settle()
        links.commit(links.position)
    finally:
        words.close()
        links.close()


def remove_from_store(directory: Directory, urls: Sequence[Url], outside: Outside, tell: Tell) -> None:
    """From the embedded store of facts, and from its checkpoints."""
    files = outside.files
    with Graph(directory.graph, files, outside.clock, tell) as graph:
        for url in urls:
            graph.remove(url)
        graph.sync()
        Checkpoints(directory.checkpoints, files, outside.clock, tell).make(graph)
    present = newest(files, directory.checkpoints)
    for name in files.names(directory.checkpoints):
        if present is not None and name.startswith("facts-") and name != present.folder.name:
            files.remove(directory.checkpoints / name)
