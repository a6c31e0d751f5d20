"""`gossamer cluster log`: what has happened in a cluster."""

import contextlib
from contextlib import closing
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.errors import DatabaseLost
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cli.output import note
from gossamer.collection.directory import existing, outside_of
from gossamer.monitor.choice import line_of
from gossamer.monitor.cluster_texts import event_in_words
from gossamer.monitor.nodes import ClusterEvent, NodeRegistry
from gossamer.values.format import harmless, json_bytes

EVERY_S = 1.0


def log(
    address: ClusterAddress,
    *,
    last: Annotated[int, Parameter(help="How many events.")] = 100,
    follow: Annotated[bool, Parameter(help="Wait for further events, and show them as they happen.")] = False,
    json: Json = False,
) -> int:
    directory = existing(address)
    clock = outside_of(directory).clock
    with closing(line_of(directory, clock)) as line, contextlib.suppress(KeyboardInterrupt):
        registry = NodeRegistry(line, clock)
        events = registry.events(max(1, last))
        while True:
            for event in events:
                print(json_bytes(event).decode() if json else harmless(event_in_words(event)), flush=True)
            seen = events[-1].id if events else 0
            if not follow:
                return 0
            events = []
            while not events:
                clock.pause(EVERY_S)
                events = newer(registry, seen)
    return 0


def newer(registry: NodeRegistry, seen: int) -> list[ClusterEvent]:
    """None while the database is away: it is waited for."""
    was_away = bool(registry.line.trouble)
    try:
        return registry.events(1000, seen)
    except DatabaseLost:
        if not was_away:
            note(f"suspended: {registry.line.trouble}")
        return []
