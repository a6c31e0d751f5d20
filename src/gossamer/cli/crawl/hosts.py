"""`gossamer hosts`: the hosts of a crawl and how each stands; and taking one out of it, or back in."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import Instant
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir
from gossamer.collection.changes import BY_HAND, change_host
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.why.answer import crew_of
from gossamer.collection.why.waits import host_state_of
from gossamer.config.slices import Politeness, politeness
from gossamer.crawler.seeds import checked_seeds
from gossamer.frontier import reports
from gossamer.frontier.api import HostState
from gossamer.frontier.reports import robots_of
from gossamer.store.directory import DEFAULT
from gossamer.store.options import config_of
from gossamer.store.state import open_state
from gossamer.values.format import as_json, counted, lasting
from gossamer.values.robots import Robots


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
    dir: Dir = DEFAULT,
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
        says = asyncio.run(change_host(directory, outside, action, name, pattern or why, warn))
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
    kind, says = host_state_of(host, polite, now, is_crawling, robots)
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


def warn(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


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
