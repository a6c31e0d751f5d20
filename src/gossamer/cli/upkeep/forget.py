"""`gossamer forget`: erases pages or hosts from a collection permanently, and keeps them out."""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.archive.directories import unerased, with_archive
from gossamer.base.clock import Instant
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import Progress, note, report_damage
from gossamer.collection.directory import existing
from gossamer.collection.maintenance import forget as erasure
from gossamer.collection.maintenance.cluster.erasure import IN_SERVICES, cluster_erasure_plan, forget_on_cluster
from gossamer.collection.maintenance.forget import IN_DELETED_PARTS, NOT_REACHED, Erased, entries_of, listed
from gossamer.crawler.damage import DAMAGED
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.forgotten import ForgottenEntry
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster
from gossamer.values.format import as_json, counted, harmless, moment


def forget(
    *names: Annotated[str, Parameter(help="URLs of pages, or names of hosts (without a slash).")],
    dir: Dir = DEFAULT,
    dry_run: Annotated[bool, Parameter(help="Only show what the archive holds of it; also during a crawl.")] = False,
    yes: Annotated[bool, Parameter(help="Do not ask for confirmation.")] = False,
    quick: Annotated[
        bool, Parameter(help="Only delete it from search and facts; its bytes in them are erased by the next rebuild.")
    ] = False,
    list: Annotated[bool, Parameter(help="List what was forgotten and is no longer accepted.")] = False,
    allow: Annotated[bool, Parameter(help="Accept these again; what was erased is not restored.")] = False,
    json: Json = False,
) -> int:
    directory = existing(dir)
    outside = with_archive(directory, real_outside())
    if list:
        found = listed(directory)
        print(as_json(found) if json else "\n".join(list_in_words(found, outside.clock.now())))
        return 0
    entries = entries_of(names, outside.clock.now())
    if allow:
        return accept_again(directory, entries)
    if not entries and all(one.done_at is not None for one in listed(directory)):
        raise ConfigError("name what to forget: gossamer forget https://example.org/page, or example.org")
    if entries:
        if is_cluster(directory):
            expected = cluster_erasure_plan(directory, entries)
        else:
            expected = erasure.erasure_plan(directory, entries, outside)
        if dry_run:
            show(expected, json, is_dry_run=True)
            return report_damage(expected.archive.damaged, dir)
        if not yes and not is_confirmed(expected):
            return 1
    if is_cluster(directory):
        return forget_shared(directory, entries, outside, json)
    agent = config_of(dir).settings.agent
    with Progress("forgetting", outside.clock) as progress:
        done = asyncio.run(erasure.forget(directory, entries, agent, outside, silent, progress.show, quick))
    show(done, json, is_quick=quick)
    return report_unerased(unerased(outside.files), dir) or report_damage(done.archive.damaged, dir)


def forget_shared(directory: Directory, entries: Sequence[ForgottenEntry], outside: Outside, json: bool) -> int:
    """On a cluster; its nodes continue."""
    with Progress("forgetting", outside.clock) as progress:
        done = asyncio.run(forget_on_cluster(directory, entries, outside, silent, progress.show))
    show(done, json, more=IN_SERVICES)
    return report_unerased(unerased(outside.files), directory.root)


def report_unerased(left: Mapping[str, int], dir: Path) -> int:
    """Copies that are on a disk that is away. Returns the exit code."""
    for directory, number in left.items():
        note(
            f"NOT ERASED YET: {counted(number, 'volume')} in {harmless(directory)}, away or not writable. "
            f"They are deleted when it is back, by the next crawl or `gossamer verify --repair --dir {dir}`"
        )
    return DAMAGED if left else 0


def is_confirmed(expected: Erased) -> bool:
    """Asks for confirmation at a terminal; programs need --yes."""
    if not sys.stdin.isatty():
        raise ConfigError("this erases permanently: add --yes, or check first with --dry-run")
    note(
        f"{in_names(expected)}: {counted(expected.archive.records, 'record')} of the archive will be erased, with all "
        "that search and facts have of it, and it is not crawled or imported again.",
        *not_included(expected),
        "Type yes to continue:",
    )
    return input().strip().lower() == "yes"


def show(
    erased: Erased, json: bool, *, is_dry_run: bool = False, is_quick: bool = False, more: Sequence[str] = ()
) -> None:
    not_reached = (*NOT_REACHED, *((IN_DELETED_PARTS,) if is_quick else ()), *more)
    if json:
        print(as_json({"is_dry_run": is_dry_run, "erased": erased, "not_reached": not_reached}))
        return
    records, room = counted(erased.archive.records, "record"), f"{erased.archive.freed_bytes / 1e6:,.1f} MB"
    if is_dry_run:
        note(f"{in_names(erased)}: {records} of the archive would be erased, {room}", *not_included(erased))
        return
    note(f"{in_names(erased)}: {records} erased, {room}; {counted(erased.addresses, 'URL')} forgotten")
    if not erased.archive.records and not erased.addresses and erased.pages is None and not is_quick:
        note("nothing was stored; it is rejected from now on")
    if erased.pages is not None:
        note(f"search, facts and links are rebuilt from {counted(erased.pages, 'capture')} of pages")
    note(*not_included(erased), "Not erased:", *(f"  {words}" for words in not_reached))


def not_included(erased: Erased) -> Iterator[str]:
    """Similar URLs that the user may have meant too; they stay unless named."""
    for words, names in (("the same bytes are kept at", erased.copies), ("not named, so they stay:", erased.alike)):
        if names:
            more = f" and {len(names) - 5:,} more (--json lists them)" if len(names) > 5 else ""
            yield f"{words} {harmless(', '.join(names[:5]))}{more}"


def in_names(erased: Erased) -> str:
    return harmless(", ".join(erased.names[:3]) + (" and others" if len(erased.names) > 3 else ""))


def list_in_words(entries: Sequence[ForgottenEntry], now: Instant) -> Iterator[str]:
    for one in entries:
        kind = "host" if one.is_host else "page"
        end = "" if one.done_at is not None else "; not finished: `gossamer forget` continues it"
        yield f"{kind} {harmless(one.name)}, requested {moment(one.asked_at, now)}{end}"
    if not entries:
        yield "nothing was forgotten"


def accept_again(directory: Directory, entries: Sequence[ForgottenEntry]) -> int:
    if not entries:
        raise ConfigError("name what to accept again: gossamer forget --allow example.org")
    unknown = asyncio.run(erasure.allow(directory, entries, real_outside(), silent))
    note(*(f"{harmless(name)} was not forgotten; `gossamer forget --list` lists what was" for name in unknown))
    known = [one.name for one in entries if one.name not in unknown]
    note(*(f"{harmless(name)} may be crawled and imported again" for name in known))
    return 1 if unknown else 0
