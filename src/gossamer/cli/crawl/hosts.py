"""`gossamer hosts`: the hosts of a crawl and how each stands; and taking one out of it, or back in."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import Clock, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy, GossamerError
from gossamer.base.tell import silent
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.why.answer import crew_of
from gossamer.collection.why.waits import gap_in_words, unread_at
from gossamer.config.slices import Politeness, politeness
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier import reports
from gossamer.frontier.api import HostState
from gossamer.frontier.priority import LAST
from gossamer.frontier.reports import robots_of
from gossamer.frontier.sqlite import hosts as retirement
from gossamer.frontier.sqlite import quarantine
from gossamer.monitor.control import REINSTATE, RELEASE, RETIRE, Control
from gossamer.rules.learned.templates import template_of
from gossamer.store.directory import DEFAULT, Directory, lock_directory
from gossamer.store.options import config_of
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import State
from gossamer.values.format import as_json, counted, lasting, moment
from gossamer.values.robots import Robots
from gossamer.values.url import Url

PATIENCE_S = 30.0
SILENT_S = 2.0
"""Who waits longer is told what for."""
LOOK_S = 0.1
BY_HAND = "by hand"


class HostShown(msgspec.Struct, frozen=True):
    """One host, as it is told."""

    host: str
    state: str
    """ready, under-way, waiting, backing-off, over-budget, retired, done"""
    says: str
    queued: int
    held: int
    visits: int
    gap_s: float
    troubles: int
    next_at: Instant | None
    retired_at: Instant | None = None


def hosts(
    action: Annotated[
        Literal["list", "retire", "reinstate", "release"],
        Parameter(help="The action; without one the hosts are listed."),
    ] = "list",
    host: Annotated[str | None, Parameter(help="The host to retire, reinstate or release.")] = None,
    *,
    pattern: Annotated[str, Parameter(help="What to release: a pattern that `gossamer why --host` shows.")] = "",
    why: Annotated[str, Parameter(help="The reason, shown by `gossamer why`.")] = BY_HAND,
    state: Annotated[
        Literal["ready", "under-way", "waiting", "backing-off", "over-budget", "retired", "done"] | None,
        Parameter(help="Only hosts in this state."),
    ] = None,
    limit: Annotated[int, Parameter(help="Number of hosts to show; 0: all.")] = 50,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON, every host.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    if action != "list":
        if host is None:
            raise ConfigError(f"name the host: gossamer hosts {action} example.org")
        if (action == "release") != bool(pattern):
            raise ConfigError("give the pattern: gossamer hosts release HOST --pattern '/calendar/{year}/{month}'")
        name = checked_seeds([host])[0].host.name
        says = asyncio.run(changed(directory, outside, action, name, pattern or why))
        print(as_json({"host": name, "action": action, "says": says}) if json else says)
        return 0
    if host is not None:
        raise ConfigError("to see one host: gossamer why --host HOST")
    polite = politeness(config_of(dir).settings)
    is_crawling, now = crew_of(directory, outside).is_crawling, outside.dates.now()
    with closing(open_state(directory)) as opened:
        hosts = list(reports.hosts(opened))
        found = sorted_usefully([shown(one, polite, now, is_crawling, robots_of(opened, one.name)) for one in hosts])
    wanted = [one for one in found if state is None or one.state == state]
    print(as_json(wanted)) if json else show(wanted, limit, Console())
    return 0


def shown(
    host: HostState, polite: Politeness, now: Instant, is_crawling: bool = True, robots: Sequence[Robots] = ()
) -> HostShown:
    kind, says = state_of(host, polite, now, is_crawling, robots)
    return HostShown(
        host=host.name,
        state=kind,
        says=says,
        queued=host.queued,
        held=host.held,
        visits=host.visits,
        gap_s=host.gap_s,
        troubles=host.troubles,
        next_at=host.next_at or None,
        retired_at=host.retired_at,
    )


def state_of(
    host: HostState, polite: Politeness, now: Instant, is_crawling: bool, robots: Sequence[Robots] = ()
) -> tuple[str, str]:
    """A word and a sentence for it. A visit that was under way when the crawl was killed is none any more. `robots`:
    what is known of its robots.txt files."""
    unread = unread_at(robots)
    if host.retired_at is not None:
        return "retired", f"retired {moment(host.retired_at, now)}: {host.retired_why}"
    if host.leased and is_crawling:
        return "under-way", "a fetch is in progress"
    if not host.queued:
        held = f"{counted(host.held, 'URL')} quarantined" if host.held else ""
        return "done", (unread and f"{unread}: given up until the next crawl") or held or "nothing is waiting"
    if host.next_at > now:
        kind = "backing-off" if host.troubles else "waiting"
        return kind, f"until {moment(host.next_at, now)}: {gap_in_words(host, polite)}"
    if host.band == LAST:
        return "over-budget", "fetched when nothing else is waiting"
    if host.ready_at is not None and host.ready_at > now:
        return "waiting", f"until {moment(host.ready_at, now)}: {unread or 'nothing is due before'}"
    return "ready", "fetched at the next opportunity" if is_crawling else "fetched when the crawl continues"


ORDER = ("under-way", "ready", "waiting", "backing-off", "over-budget", "retired", "done")


def sorted_usefully(found: Sequence[HostShown]) -> list[HostShown]:
    """What is going on first, then what is stuck, each with the longest queue first; what is done last."""
    return sorted(found, key=lambda one: (ORDER.index(one.state), -one.queued, -one.visits, one.host))


def show(found: Sequence[HostShown], limit: int, console: Console) -> None:
    table = Table(box=None)
    table.add_column("host", overflow="fold")
    table.add_column("state")
    for name in ("queued", "visited", "gap"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in found[:limit] if limit > 0 else found:
        numbers = (f"{one.queued:,}", f"{one.visits:,}", lasting(one.gap_s))
        style = {"retired": "red", "backing-off": "yellow", "done": "dim"}.get(one.state)
        table.add_row(one.host, one.state, *numbers, one.says, style=style)
    console.print(table, highlight=False)
    console.print(Text(", ".join(_totals(found)) or "no hosts", style="dim"))


def _totals(found: Sequence[HostShown]) -> Iterator[str]:
    yield counted(len(found), "host")
    for kind in ORDER:
        if number := sum(1 for one in found if one.state == kind):
            yield f"{number:,} {kind}"


async def changed(directory: Directory, outside: Outside, action: str, name: str, words: str) -> str:
    """Ourselves when nobody writes, else by asking the crawl. `words`: why it is retired, or the pattern released."""
    try:
        lock = lock_directory(directory, outside, "hosts")
    except DirectoryBusy:
        return await asked(directory, outside, action, name, words)
    try:
        async with open_database(directory, outside.clock, silent) as database:
            done = await database.run(lambda state: _change(state, action, name, words, outside.clock.now()))
    finally:
        lock.release()
    if not done:
        raise GossamerError(f"{name} is not known, or {UNDONE[action]}")
    return f"{name} {DONE[action]}"


DONE = {"retire": "is retired: nothing is fetched there", "reinstate": "is crawled again", "release": "is released"}
UNDONE = {
    "retire": "is already retired",
    "reinstate": "is not retired",
    "release": "nothing is quarantined by that pattern",
}


def _change(state: State, action: str, name: str, words: str, now: Instant) -> bool:
    match action:
        case "retire":
            return retirement.retire(state, name, words, now) is not None
        case "reinstate":
            return retirement.reinstate(state, name) is not None
        case _:
            return quarantine.release(state, name, words, lambda text: template_of(Url(text)))[1] > 0


async def asked(directory: Directory, outside: Outside, action: str, name: str, words: str) -> str:
    """The crawl does it between two breaths; what it made of it is read from the state."""
    args = {"retire": {"why": words}, "release": {"pattern": words}}.get(action, {})
    with Control(directory.control, outside.clock) as control:
        number = control.ask(VERBS[action], host=name, **args)
        if not await _is_done_in(SILENT_S, control, number, outside.clock):
            print(f"the running crawl is busy: waiting for it, up to {PATIENCE_S:g} s", file=sys.stderr, flush=True)
            if not await _is_done_in(PATIENCE_S - SILENT_S, control, number, outside.clock):
                raise GossamerError(f"the running crawl has not responded in {PATIENCE_S:g} s; it will, if it is alive")
    with closing(open_state(directory)) as opened:
        host = reports.host_state(opened, name)
    if host is None:
        raise GossamerError(f"{name} is not known to this crawl")
    held = f", with {counted(host.held, 'URL')} quarantined" if host.held else ""
    return f"{name} is {'retired' if host.retired_at is not None else 'active'} now{held}"


async def _is_done_in(seconds: float, control: Control, number: int, clock: Clock) -> bool:
    give_up_s = clock.elapsed_s() + seconds
    while not control.is_done(number):
        if clock.elapsed_s() > give_up_s:
            return False
        await clock.sleep(LOOK_S)
    return True


VERBS = {"retire": RETIRE, "reinstate": REINSTATE, "release": RELEASE}
