"""Changes to a collection: made here while nobody writes to it, asked of the running crawl otherwise."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from enum import Enum, auto

from gossamer.base.clock import Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.tell import Says, silent, unheard
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier import reports
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite import hosts as stored
from gossamer.frontier.sqlite.requeue import ended, requeue
from gossamer.monitor.control import REINSTATE, RELEASE, REQUEUE, RETIRE, Control
from gossamer.rules.canonical import identity_of, stripped
from gossamer.rules.learned.traps import template_of
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.state import open_database, open_snapshot, open_state
from gossamer.store.statements import State
from gossamer.values.format import counted
from gossamer.values.url import Url
from gossamer.values.visit import EndedGroup, Selection

ALL = "all"
KEYS = UrlKeys(identity_of)
PATIENCE_S, LOOK_S = 30.0, 0.1
SILENT_S = 2.0
"""A caller that waits longer is told why."""
BY_HAND = "by hand"
VERBS = {"retire": RETIRE, "reinstate": REINSTATE, "release": RELEASE}
DONE = {"retire": "is retired: nothing is fetched there", "reinstate": "is crawled again", "release": "is released"}
UNDONE = {
    "retire": "is already retired",
    "reinstate": "is not retired",
    "release": "nothing is quarantined by that pattern",
}


class FetchedBy(Enum):
    RUNNING_CRAWL = auto()
    NEXT_CRAWL = auto()


def again_of(urls: Sequence[str]) -> Selection:
    """`all`, or URLs. Raises ConfigError for what is no URL."""
    return Selection() if ALL in urls else Selection(urls=tuple([stripped(url) for url in checked_seeds(urls)]))


def fetch_again(directory: Directory, outside: Outside, urls: Sequence[str], says: Says = unheard) -> FetchedBy:
    """Raises ConfigError for a URL that was never fetched, saying what to do."""
    selection = again_of(urls)
    found = groups_in(directory, selection)
    known = sum(one.urls for one in found)
    if not known or known < len(selection.urls):
        raise ConfigError(
            "not every URL named with --again was visited before; a new one is added as a seed: gossamer crawl URL"
        )
    try:
        lock_directory(directory, outside, "crawl").release()
        by = FetchedBy.NEXT_CRAWL
    except DirectoryBusy:
        by = FetchedBy.RUNNING_CRAWL
    asyncio.run(bring_back(directory, outside, selection))
    if by is FetchedBy.RUNNING_CRAWL:
        says(f"the running crawl fetches {counted(known, 'URL')} again, politely")
    return by


def groups_in(directory: Directory, selection: Selection) -> list[EndedGroup]:
    """How the URLs of a selection ended, by outcome."""
    with closing(open_snapshot(directory)) as state:
        return ended(state, selection, KEYS)


async def bring_back(directory: Directory, outside: Outside, selection: Selection) -> int:
    """Queue URLs again; returns how many."""
    try:
        lock = lock_directory(directory, outside, "retry")
    except DirectoryBusy:
        chosen = {"reasons": sorted(selection.reasons), "host": selection.host}
        urls = [url.text for url in selection.urls]
        with Control(directory.control, outside.clock) as control:
            number = control.ask(REQUEUE, urls=urls, **chosen)
            if not await _is_done_in(PATIENCE_S, control, number, outside.clock):
                raise GossamerError(NO_RESPONSE) from None
        return sum(one.urls for one in groups_in(directory, selection))
    try:
        async with open_database(directory, outside.clock, silent) as database:
            return await requeue(database, selection, KEYS, outside.clock, lambda _: None)
    finally:
        lock.release()


async def change_host(
    directory: Directory, outside: Outside, action: str, name: str, words: str, says: Says = unheard
) -> str:
    """What it did, in words. `words`: why a host is retired, or the pattern that is released."""
    try:
        lock = lock_directory(directory, outside, "hosts")
    except DirectoryBusy:
        return await _host_asked(directory, outside, action, name, words, says)
    try:
        async with open_database(directory, outside.clock, silent) as database:
            done = await database.run(lambda state: _change(state, action, name, words, outside.clock.now()))
    finally:
        lock.release()
    if not done:
        raise GossamerError(f"{name} is not known, or {UNDONE[action]}")
    return f"{name} {DONE[action]}"


def _change(state: State, action: str, name: str, words: str, now: Instant) -> bool:
    match action:
        case "retire":
            return stored.retire(state, name, words, now) is not None
        case "reinstate":
            return stored.reinstate(state, name) is not None
        case _:
            return stored.release(state, name, words, lambda text: template_of(Url(text)))[1] > 0


async def _host_asked(directory: Directory, outside: Outside, action: str, name: str, words: str, says: Says) -> str:
    """The crawl does it between two fetches; the result is read from the state."""
    args = {"retire": {"why": words}, "release": {"pattern": words}}.get(action, {})
    with Control(directory.control, outside.clock) as control:
        number = control.ask(VERBS[action], host=name, **args)
        if not await _is_done_in(SILENT_S, control, number, outside.clock):
            says(f"the running crawl is busy: waiting for it, up to {PATIENCE_S:g} s")
            if not await _is_done_in(PATIENCE_S - SILENT_S, control, number, outside.clock):
                raise GossamerError(NO_RESPONSE)
    with closing(open_state(directory)) as state:
        host = reports.host_state(state, name)
    if host is None:
        raise GossamerError(f"{name} is not known to this crawl")
    held = f", with {counted(host.held, 'URL')} quarantined" if host.held else ""
    return f"{name} is {'retired' if host.retired_at is not None else 'active'} now{held}"


NO_RESPONSE = f"the running crawl has not responded in {PATIENCE_S:g} s; it will, if it is alive"


async def _is_done_in(seconds: float, control: Control, number: int, clock: Clock) -> bool:
    give_up_s = clock.elapsed_s() + seconds
    while not control.is_done(number):
        if clock.elapsed_s() > give_up_s:
            return False
        await clock.sleep(LOOK_S)
    return True
