"""`gossamer cluster status` and `nodes`: all machines of a cluster, its services, and what waits."""

import sys
from contextlib import closing
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.cli.ask.top import SIGNS, STYLES
from gossamer.cli.flags import ClusterAddress, Json
from gossamer.cli.output import console
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.system import Watch
from gossamer.monitor.choice import control_of
from gossamer.monitor.cluster_texts import event_in_words, is_well, node_rows, queue_in_words, service_rows
from gossamer.monitor.nodes import ClusterState
from gossamer.monitor.system import CARDS, COUNTERS, System, SystemRow, cells_of
from gossamer.store.options import config_of
from gossamer.values.format import as_json, state_in_words

NODES = {
    "state": "state", "roles": "roles", "labels": "labels", "pages_s": "pages/s", "leases": "leased", "cpu": "CPU",
    "rss": "memory", "disk": "disk free",
}  # fmt: skip
WIDE = 160
"""Columns where the output is no terminal."""
MACHINES = {"state": "", "speed": "", "memory": "memory ", "disk": "disk free "}


def status(address: ClusterAddress, *, json: Json = False) -> int:
    system = system_of(address)
    assert system.cluster is not None
    if json:
        print(as_json(system))
    else:
        wide_console().print(drawn(system, system.cluster))
    return 0 if is_well(system.cluster) else 1


def nodes(address: ClusterAddress, *, json: Json = False) -> int:
    system = system_of(address)
    assert system.cluster is not None
    if json:
        print(as_json(system.cluster.nodes))
    else:
        wide_console().print(table(node_rows(system.cluster), NODES, "node"))
    return 0


def wide_console() -> Console:
    return console() if sys.stdout.isatty() else console(width=WIDE)


def system_of(address: Path) -> System:
    directory = existing(address)
    outside = outside_of(directory)
    settings = config_of(directory.root).settings
    with (
        control_of(directory, outside.clock) as control,
        closing(Watch(directory, settings, outside, control)) as watch,
    ):
        return watch.system()


def drawn(system: System, cluster: ClusterState) -> RenderableType:
    cells = cells_of(system)
    head = Text.assemble("Crawl: ", (state_in_words(system.state), "bold"), f"   {cells['moment']}")
    totals = Text("   ".join(f"{cells[f'total/{key}']} {label}" for key, label in CARDS))
    machines = Text(", ".join(f"{words}{cells[f'all/{key}']}" for key, words in MACHINES.items()))
    counters = Text(
        ", ".join(f"{cells[f'counter/{key}']} {label}" for key, label in COUNTERS if f"counter/{key}" in cells), "dim"
    )
    waits = [Text(f"{row.name}: {row.cells['says']}", "yellow") for row in node_rows(cluster) if row.cells["says"]]
    queues = [Text(f"{one.view}: {queue_in_words(one)}") for one in cluster.backlog]
    events = [Text(event_in_words(one), "dim") for one in cluster.events[-5:]]
    hints = [Text.assemble((f"{hint.severity}: ", "bold"), f"{hint.words} {hint.fix}") for hint in system.hints]
    services = table(service_rows(cluster), {"state": "state", "says": ""}, "service")
    lines: list[RenderableType] = [head, totals, machines, counters, "", table(node_rows(cluster), NODES, "node")]
    lines += [*waits, "", services, "", *queues, "", *events, *hints]
    return Group(*lines)


def table(rows: list[SystemRow], columns: dict[str, str], name: str) -> Table:
    found = Table(name, *columns.values(), box=None, pad_edge=False, header_style="dim")
    for row in rows:
        state = Text(f"{SIGNS[row.badge]} {row.cells['state']}", style=STYLES[row.badge])
        cells = [state if key == "state" else Text(row.cells[key]) for key in columns]
        found.add_row(Text(row.name, style="bold"), *cells)
    if not rows:
        found.add_row(Text("none", style="dim"))
    return found
