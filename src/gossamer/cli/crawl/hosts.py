"""`gossamer hosts`: lists the hosts of a crawl; retires, reinstates or releases one."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir
from gossamer.cli.output import console, note, table
from gossamer.collection.changes import BY_HAND, change_host
from gossamer.collection.state import HOST_STATES, CollectionState, HostShown
from gossamer.crawler.seeds import checked_seeds
from gossamer.store.directory import DEFAULT
from gossamer.values.format import as_json, counted, lasting


def hosts(
    action: Annotated[
        Literal["list", "retire", "reinstate", "release"],
        Parameter(help="The action; list if not given."),
    ] = "list",
    host: Annotated[str | None, Parameter(help="The host to retire, reinstate or release.")] = None,
    *,
    pattern: Annotated[str, Parameter(help="The pattern to release, as shown by `gossamer why --host`.")] = "",
    why: Annotated[str, Parameter(help="The reason, shown by `gossamer why`.")] = BY_HAND,
    state: Annotated[
        Literal["ready", "in-progress", "waiting", "backing-off", "over-budget", "retired", "done"] | None,
        Parameter(help="Only hosts in this state."),
    ] = None,
    limit: Annotated[int, Parameter(help="Number of hosts to show; 0: all.")] = 50,
    dir: Dir = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON, every host.")] = False,
) -> int:
    collection = CollectionState.open(dir)
    if action == "list":
        if host is not None:
            raise ConfigError("to see one host: gossamer why --host HOST")
        wanted = [one for one in collection.hosts() if state is None or one.state == state]
        print(as_json(wanted)) if json else show(wanted, limit, console())
        return 0
    if host is None:
        raise ConfigError(f"name the host: gossamer hosts {action} example.org")
    if (action == "release") != bool(pattern):
        raise ConfigError("give the pattern: gossamer hosts release HOST --pattern '/calendar/{year}/{month}'")
    name = checked_seeds([host])[0].host.name
    changing = change_host(collection.directory, collection.outside, action, name, pattern or why, note)
    says = asyncio.run(changing)
    print(as_json({"host": name, "action": action, "says": says}) if json else says)
    return 0


def show(found: Sequence[HostShown], limit: int, out: Console) -> None:
    listed = table("host", "state", ">queued", ">fetched", ">gap", "")
    for one in found[:limit] if limit > 0 else found:
        numbers = (f"{one.queued:,}", f"{one.visits:,}", lasting(one.gap_s))
        style = {"retired": "red", "backing-off": "yellow", "done": "dim"}.get(one.state)
        listed.add_row(one.host, one.state, *numbers, one.says, style=style)
    out.print(listed)
    by_state = Counter(one.state for one in found)
    totals = [f"{by_state[state]:,} {state}" for state in HOST_STATES if by_state[state]]
    out.print(", ".join([counted(len(found), "host"), *totals]), style="dim")
