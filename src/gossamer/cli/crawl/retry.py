"""`gossamer retry`: URLs that failed or were refused wait again, after a preview."""

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.tell import silent
from gossamer.collection.directory import existing
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier.sqlite.requeue import ended, requeue
from gossamer.frontier.sqlite.sieve import IncomingKeys
from gossamer.monitor.control import REQUEUE, Control
from gossamer.rules.canonical import identity_of, stripped
from gossamer.store.directory import DEFAULT, Directory, lock_directory
from gossamer.store.state import open_database, open_snapshot
from gossamer.values.format import as_json, counted
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.url import id_of
from gossamer.values.visit import EndedGroup, Selection

KEYS = IncomingKeys(id_of, identity_of)
NOT_RETRIED = frozenset({Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED, Reason.FORGOTTEN})
"""Ends that are neither failures nor refusals, or are meant to stay; `gossamer crawl --again` fetches pages again."""
PATIENCE_S, LOOK_S = 30.0, 0.1


def retry(
    *,
    reason: Annotated[tuple[str, ...], Parameter(help="Their outcome: a reason code shown by `gossamer status`.")] = (),
    host: Annotated[str, Parameter(help="Only URLs of this host.")] = "",
    url: Annotated[tuple[str, ...], Parameter(help="Only this URL.")] = (),
    yes: Annotated[bool, Parameter(help="Do it without asking.", negative=())] = False,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON: what would be queued, and with --yes how many are.")] = False,
) -> int:
    directory, outside = existing(dir), real_outside()
    selection = selected(reason, host, url)
    found = groups_in(directory, selection)
    many = sum(one.urls for one in found)
    is_wanted = many > 0 and (yes or (not json and _is_agreed(found)))
    moved = asyncio.run(bring_back(directory, outside, selection)) if is_wanted else 0
    if json:
        print(as_json({"groups": found, "urls": many, "waiting": moved if is_wanted else None}))
    elif not many:
        print("No failed or refused URL matches.")
    elif is_wanted:
        print(f"{counted(moved, 'URL')} queued again: a crawl fetches them, politely.")
    else:
        print("Nothing was changed; use --yes to do it.")
    return 0 if many else 1


def selected(reasons: tuple[str, ...], host: str, urls: tuple[str, ...]) -> Selection:
    """Raises ConfigError for a reason there is none of, or when nothing is chosen."""
    if not (reasons or host or urls):
        raise ConfigError(
            "say which URLs: gossamer retry --reason timeout, --host example.org, or --url https://example.org/a"
        )
    known = {one.value for one in Reason} - {one.value for one in NOT_RETRIED}
    if wrong := [one for one in reasons if one not in known]:
        raise ConfigError(f"there is no reason {wrong[0]!r} to retry; there are: {', '.join(sorted(known))}")
    chosen = frozenset(map(Reason, reasons)) or frozenset(Reason) - NOT_RETRIED
    name = checked_seeds([host])[0].host.name if host else ""
    return Selection(chosen, name, tuple([stripped(one) for one in checked_seeds(urls)]))


def groups_in(directory: Directory, selection: Selection) -> list[EndedGroup]:
    with closing(open_snapshot(directory)) as state:
        return ended(state, selection, KEYS)


def _is_agreed(found: list[EndedGroup]) -> bool:
    for one in found:
        print(f"{one.urls:>9,}  {one.reason}: {IN_WORDS[one.reason]}")
        for text in one.examples:
            print(f"{'':>11}{text}")
    if not sys.stdin.isatty():
        return False
    return input("Queue these again? [y/N] ").strip().lower() in ("y", "yes")


async def bring_back(directory: Directory, outside: Outside, selection: Selection) -> int:
    """Ourselves when nobody writes, else by asking the running crawl. Says how many wait again."""
    try:
        lock = lock_directory(directory, outside, "retry")
    except DirectoryBusy:
        await _ask(directory, outside, selection)
        return sum(one.urls for one in groups_in(directory, selection))
    try:
        async with open_database(directory, outside.clock, silent) as database:
            return await requeue(database, selection, lambda: KEYS, outside.clock, lambda _: None)
    finally:
        lock.release()


async def _ask(directory: Directory, outside: Outside, selection: Selection) -> None:
    with Control(directory.control, outside.clock) as control:
        number = control.ask(
            REQUEUE,
            reasons=sorted(selection.reasons),
            host=selection.host,
            urls=[url.text for url in selection.urls],
        )
        give_up_s = outside.clock.elapsed_s() + PATIENCE_S
        while not control.is_done(number):
            if outside.clock.elapsed_s() > give_up_s:
                raise GossamerError(f"the running crawl has not responded in {PATIENCE_S:g} s; it will, if it is alive")
            await outside.clock.sleep(LOOK_S)
