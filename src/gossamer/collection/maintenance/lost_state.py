"""`gossamer rebuild --state`: a new state.db, made from the archive.

For one that was lost or damaged.

The damaged file is renamed, never deleted. The new one is made as `state.db.new` and renamed once it is complete, so
that a kill leaves either no state, which every command reports, or a complete one.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import adopt
from gossamer.archive.directories import reconcile_ends, with_disks
from gossamer.base.clock import SECOND
from gossamer.base.environment import Outside
from gossamer.base.errors import DirectoryUnusable, ViewDamaged
from gossamer.base.tell import Says, silent
from gossamer.collection.directory import locked
from gossamer.config.settings import Settings
from gossamer.crawler.admission import open_admission
from gossamer.crawler.damage import noting_damage
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.maintenance import enter_found, enter_visited, settle_restored
from gossamer.frontier.sqlite.sieve import IncomingKeys
from gossamer.monitor.supervisor import lock_views
from gossamer.rules.canonical import identity_of
from gossamer.store import captures, forgotten, tallies
from gossamer.store.directory import Directory
from gossamer.store.forgotten import ForgottenEntry
from gossamer.store.options import Option, put_options, put_seeds, stored_options, stored_seeds
from gossamer.store.sqlite.database import Database
from gossamer.store.state import refuse_shared_state
from gossamer.store.statements import State, StateWriter
from gossamer.values.format import counted
from gossamer.values.link import How, Offer
from gossamer.values.url import Url
from gossamer.values.visit import Counts
from gossamer.views.links.reader import every_link

AT_ONCE = 2_000
TAILS = ("", "-wal", "-shm")
LOST = (
    "what a crawl with revisits had learned of each page's changes, and the pages it was to fetch again",
    "failures, back-off and retirement of hosts; robots.txt is fetched again, and every host waits a full gap first",
    "URLs found in sitemaps, feeds and redirects that were not fetched yet",
)
"""What the archive does not hold."""
LOST_FORGOTTEN = "what was to be forgotten (`gossamer forget --list`): forget it again, or it may be crawled again"
LOST_OPTIONS = "options that the collection was given (`gossamer config show`): give them again with the next crawl"
NO_SEEDS = "the seeds: name them with `gossamer rebuild --state --seed URL`, or at the next `gossamer crawl URL`"


class Restored(msgspec.Struct, frozen=True):
    captures: int
    pages: int
    known: int
    queued: int
    seeds: int
    set_aside: str = ""
    """The damaged file's new name."""
    missing: tuple[str, ...] = ()
    """What could not be restored this time, but often can be."""
    gone: tuple[str, ...] = LOST
    damaged: tuple[str, ...] = ()
    """In words: places of the archive without an intact record."""


class _Salvaged(msgspec.Struct, frozen=True):
    """What only the damaged file holds, as far as it can be read; None: unreadable."""

    seeds: list[tuple[Url, str]] | None = None
    forgotten: list[ForgottenEntry] | None = None
    options: Mapping[str, Option] | None = None
    counts: Counts | None = None


async def restore_state(
    directory: Directory, settings: Settings, starts: Sequence[Url], outside: Outside, says: Says
) -> Restored:
    """`starts` are the seeds named again. Raises DirectoryUnusable if there is no archive."""
    refuse_shared_state(directory, "rebuild --state", "restore the database from its own backup")
    if not outside.files.names(directory.archive) and not settings.archive.directories:
        raise DirectoryUnusable(
            f"there is nothing in {directory.archive} to make a state from. Put its volumes back from a backup that "
            "`gossamer backup` made, and run this again"
        )
    with locked(directory, outside, "rebuild"):
        outside = with_disks(directory, settings, outside)
        (await lock_views(directory, outside, "rebuild")).release()
        aside = set_aside(directory, outside)
        salvaged = salvaged_from(directory.root / aside) if aside else _Salvaged()
        making = directory.state.with_name(directory.state.name + ".new")
        for tail in TAILS:
            outside.files.remove(making.with_name(making.name + tail))
        async with Database(making, outside.clock, silent) as database:
            restored = await filled(database, directory, settings, salvaged, starts, outside, says)
        outside.files.rename(making, directory.state)
        return msgspec.structs.replace(restored, set_aside=aside)


def set_aside(directory: Directory, outside: Outside) -> str:
    """Rename the damaged file; its new name, or nothing if there was none."""
    state, files = directory.state, outside.files
    before = [name for name in files.names(directory.root) if name.startswith(f"{state.name}.damaged-")]
    if not state.exists():  # lost, or renamed by an interrupted run
        return next((name for name in reversed(before) if not name.endswith(TAILS[1:])), "")
    aside = state.with_name(f"{state.name}.damaged-{outside.clock.now()}")
    for tail in reversed(TAILS):  # the file itself last: as long as it exists, all of this is repeated
        if state.with_name(state.name + tail).exists():
            files.rename(state.with_name(state.name + tail), aside.with_name(aside.name + tail))
    return aside.name


def salvaged_from(path: Path) -> _Salvaged:
    found: dict[str, object] = {}
    reads = {"seeds": stored_seeds, "forgotten": forgotten.every, "options": stored_options, "counts": tallies.counts}
    for name, read in reads.items():
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                found[name] = read(connection)
        except (sqlite3.Error, ValueError):
            found[name] = None
    return _Salvaged(**found)  # type: ignore[arg-type]


async def filled(
    database: StateWriter,
    directory: Directory,
    settings: Settings,
    salvaged: _Salvaged,
    starts: Sequence[Url],
    outside: Outside,
    says: Says,
) -> Restored:
    def remember(connection: State) -> None:
        for url, reach in salvaged.seeds or ():
            put_seeds(connection, [url], reach)
        forgotten.put(connection, salvaged.forgotten or ())
        for name, option in (salvaged.options or {}).items():
            put_options(connection, {name: option.value}, option.given_at)

    await database.run(remember)
    says("reading the archive")
    damaged: dict[str, None] = {}
    reconcile_ends(outside.files, None, silent)
    await adopt(database, outside.files, directory.archive, noting_damage(silent, damaged))
    await enter_captures(database, says)
    await database.run(captures.withdraw_vanished)
    ruling = await open_admission(directory, settings, starts, database, outside, silent)
    named = await database.read(stored_seeds)
    offers = [Offer(url, How.SEED) for url, _ in named]
    missing = [] if named else [NO_SEEDS]
    await database.run(partial(enter_found, offers=offers, keys=IncomingKeys(UrlKeys(identity_of))))
    try:
        links = _linked(directory.links) if named else iter(())
        while batch := list(islice((offer for offer in links if ruling.may_enter(offer)), AT_ONCE)):
            await database.run(partial(enter_found, offers=batch, keys=IncomingKeys(UrlKeys(identity_of))))
            says("offering the links of the archived pages again")
    except ViewDamaged as trouble:
        missing.append(f"links that were not fetched yet: {trouble}; then `gossamer rebuild --state` again")
    rest_until = outside.clock.now() + round(settings.politeness.delay_s * SECOND)
    await database.run(partial(settle_restored, rest_until=rest_until))
    counts = await database.read(tallies.counts)
    if salvaged.counts is not None and (lost := salvaged.counts.captures - counts.captures) > 0:
        missing.append(
            f"{counted(lost, 'capture')} that the old state.db knew: volumes of the archive are missing or cut short. "
            "Put them back from a backup, then `gossamer rebuild --state` again"
        )
    figures = (counts.captures, counts.pages, counts.known, counts.queued, len(named))
    gone = (*LOST, *[LOST_FORGOTTEN] * (salvaged.forgotten is None), *[LOST_OPTIONS] * (salvaged.options is None))
    return Restored(*figures, missing=tuple(missing), gone=gone, damaged=tuple(damaged))


async def enter_captures(database: StateWriter, says: Says) -> None:
    """Each volume by number, so that every batch continues where the last one ended."""
    entered = 0
    for volume in await database.read(captures.volume_names):
        number = 0
        while visited := await database.read(
            partial(captures.kept_from, volume=volume, number=number, at_most=AT_ONCE)
        ):
            await database.run(partial(enter_visited, visited=visited, keys=IncomingKeys(UrlKeys(identity_of))))
            number, entered = visited[-1].place.number + 1, entered + len(visited)
            says(f"entering what was fetched: {entered:,} captures")


def _linked(path: Path) -> Iterator[Offer]:
    if not path.exists():
        raise ViewDamaged(path, "it is missing")
    for _, links in every_link(path):
        yield from (Offer(link.url, How.LINK, depth=1) for link in links if link.may_follow)
