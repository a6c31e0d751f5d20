"""`gossamer forget`: pages or whole hosts leave the collection for good, and are not let in again."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tell import silent
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing
from gossamer.collection.maintenance.forget import (
    IN_DELETED_PARTS,
    NOT_REACHED,
    Erased,
    allow,
    entries_of,
    listed,
    look_ahead,
)
from gossamer.collection.maintenance.forget import forget as forget_now
from gossamer.crawler.damage import tell_damage
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.forgotten import ForgottenEntry
from gossamer.store.options import config_of
from gossamer.values.format import as_json, counted, harmless, moment


def forget(
    *names: Annotated[str, Parameter(help="URLs of pages, or names of hosts (without a slash).")],
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    dry_run: Annotated[bool, Parameter(help="Only show what the archive holds of it; also during a crawl.")] = False,
    yes: Annotated[bool, Parameter(help="Do not ask for confirmation.")] = False,
    quick: Annotated[
        bool, Parameter(help="Only delete it from search and facts; its bytes in them are erased by the next rebuild.")
    ] = False,
    list: Annotated[bool, Parameter(help="List what was forgotten and is no longer accepted.")] = False,
    allow: Annotated[bool, Parameter(help="Accept these again; what was erased is not restored.")] = False,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    directory, outside, console = existing(dir), real_outside(), Console(stderr=True)
    if list:
        return show_list(listed(directory), outside, json)
    entries = entries_of(names, outside.clock.now())
    if allow:
        return let_in(directory, entries, outside, console)
    if not entries and not any(one.done_at is None for one in listed(directory)):
        raise ConfigError("name what to forget: gossamer forget https://example.org/page, or example.org")
    if entries:
        expected = look_ahead(directory, entries, outside)
        if dry_run:
            show(expected, True, json, console)
            return tell_damage(expected.archive.damaged, dir)
        if not yes and not is_meant(expected, console):
            return 1
    agent = config_of(dir).settings.agent
    with Working("forgetting", outside.clock) as progress:
        done = asyncio.run(forget_now(directory, entries, agent, outside, silent, progress.says, quick))
    show(done, False, json, console, quick)
    return tell_damage(done.archive.damaged, dir)


def is_meant(expected: Erased, console: Console) -> bool:
    """Asked at a terminal. A program must say --yes."""
    if not sys.stdin.isatty():
        raise ConfigError("this erases permanently: add --yes, or check first with --dry-run")
    say(console, f"{in_names(expected)}: {counted(expected.archive.records, 'record')} of the archive will be erased,")
    say(console, "search and facts are rebuilt from the rest, and it is not crawled or imported again.")
    say_beside(expected, console)
    return console.input("Type yes to continue: ").strip().lower() == "yes"


def show(erased: Erased, dry_run: bool, json: bool, console: Console, quick: bool = False) -> None:
    not_reached = (*NOT_REACHED, IN_DELETED_PARTS) if quick else NOT_REACHED
    if json:
        print(as_json({"is_dry_run": dry_run, "erased": erased, "not_reached": not_reached}))
        return
    records, room = counted(erased.archive.records, "record"), f"{erased.archive.freed_bytes / 1e6:,.1f} MB"
    if dry_run:
        say(console, f"{in_names(erased)}: {records} of the archive would be erased, {room}")
        say_beside(erased, console)
        return
    say(console, f"{in_names(erased)}: {records} erased, {room}; {counted(erased.addresses, 'URL')} forgotten")
    if not erased.archive.records and not erased.addresses and erased.pages is None and not quick:
        say(console, "nothing was stored; it is rejected from now on")
    if erased.pages is not None:
        say(console, f"search, facts and links are rebuilt from {counted(erased.pages, 'capture')} of pages")
    say_beside(erased, console)
    say(console, "Not erased:")
    for words in not_reached:
        say(console, f"  {words}")


def say_beside(erased: Erased, console: Console) -> None:
    """What a person may have meant as well; it stays until it is named."""
    for words, names in (("the same bytes are kept at", erased.copies), ("not named, so they stay:", erased.alike)):
        if names:
            more = f" and {len(names) - 5:,} more (--json lists them)" if len(names) > 5 else ""
            say(console, f"{words} {harmless(', '.join(names[:5]))}{more}")


def show_list(entries: list[ForgottenEntry], outside: Outside, json: bool) -> int:
    if json:
        print(as_json(entries))
        return 0
    now, console = outside.clock.now(), Console()
    for one in entries:
        end = "" if one.done_at is not None else "; not finished: `gossamer forget` continues it"
        say(
            console,
            f"{'host' if one.is_host else 'page'} {harmless(one.name)}, requested {moment(one.asked_at, now)}{end}",
        )
    if not entries:
        say(console, "nothing was forgotten")
    return 0


def let_in(directory: Directory, entries: list[ForgottenEntry], outside: Outside, console: Console) -> int:
    if not entries:
        raise ConfigError("name what to accept again: gossamer forget --allow example.org")
    unknown = asyncio.run(allow(directory, entries, outside, silent))
    for name in unknown:
        say(console, f"{harmless(name)} was not forgotten; `gossamer forget --list` lists what was")
    for one in entries:
        if one.name not in unknown:
            say(console, f"{harmless(one.name)} may be crawled and imported again")
    return 1 if unknown else 0


def in_names(erased: Erased) -> str:
    return harmless(", ".join(erased.names[:3]) + (" and others" if len(erased.names) > 3 else ""))


def say(console: Console, words: str) -> None:
    console.print(words, highlight=False, markup=False, soft_wrap=True)
