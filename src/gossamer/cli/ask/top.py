"""`gossamer top`: the processes of a collection, live in a terminal."""

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import Clock
from gossamer.base.environment import Outside
from gossamer.cli.flags import Dir
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.system import Watch
from gossamer.monitor.choice import control_of
from gossamer.monitor.system import CARDS, System, SystemRow, cells_of, rows_of
from gossamer.store.directory import DEFAULT
from gossamer.store.options import config_of
from gossamer.values.format import json_bytes, state_in_words

EVERY_S = 1.0
KEY_S = 0.1
STYLES = {"good": "green", "warn": "yellow", "bad": "bold red", "idle": "dim"}
SIGNS = {"good": "✓", "warn": "▲", "bad": "✕", "idle": "○"}
SEVERITIES = {"trouble": "bold red", "warning": "yellow", "advice": "cyan"}


def top(
    *,
    dir: Dir = DEFAULT,
    once: Annotated[bool, Parameter(help="Show it once, and exit.")] = False,
    json: Annotated[bool, Parameter(help="As JSON, one object per line.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    settings = config_of(dir).settings
    with control_of(directory, outside.clock) as control:
        watch = Watch(directory, settings, outside, control)
        with contextlib.closing(watch), contextlib.suppress(KeyboardInterrupt):
            if json:
                print_repeatedly(watch.system, lambda system: json_bytes(system).decode(), outside, once)
            elif sys.stdout.isatty() and not once:
                live(watch.system, outside.clock)
            else:
                print_repeatedly(watch.system, as_words, outside, once)
    return 0


def print_repeatedly(
    look: Callable[[], System], text_of: Callable[[System], str], outside: Outside, once: bool
) -> None:
    """For logs, pipes and programs."""
    while True:
        print(text_of(look()), flush=True)
        if once:
            return
        outside.clock.pause(EVERY_S)


def as_words(system: System) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as taken:
        console.print(drawn(system))
    return taken.get()


def live(look: Callable[[], System], clock: Clock) -> None:
    """Until q or Ctrl-C."""
    screen = Live(console=Console(), screen=True, auto_refresh=False)
    with keys() as pressed, contextlib.ExitStack() as undo:
        undo.callback(screen.stop)  # even if Ctrl-C is pressed while it starts
        screen.start()
        while True:
            screen.update(drawn(look()), refresh=True)
            for _ in range(round(EVERY_S / KEY_S)):
                clock.pause(KEY_S)
                if pressed() in ("q", "Q", "\x1b", "\x03"):
                    return


@contextlib.contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Keys as they are pressed, without waiting for a line; none if standard input is not a terminal."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)

    def pressed() -> str:
        ready, _, _ = select.select([keyboard], [], [], 0)
        return os.read(keyboard, 1).decode("ascii", "replace") if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def drawn(system: System) -> RenderableType:
    cells = cells_of(system)
    nodes, processes = rows_of(system)
    totals = Text("   ".join(f"{cells[f'total/{key}']} {label}" for key, label in CARDS))
    head = Text.assemble("Crawl: ", (state_in_words(system.state), "bold"), f"   {cells['moment']}")
    known = Text(
        f"{cells.get('counter/known', '0')} known URLs, {cells.get('counter/visited', '0')} fetched, "
        f"{cells.get('counter/queued', '0')} waiting, {cells.get('counter/pages', '0')} pages, "
        f"{cells.get('counter/captures', '0')} captures, "
        f"archive {cells.get('counter/archive_bytes', '0 B')}",
        style="dim",
    )
    hints = [
        Text.assemble((f"{hint.severity}: ", SEVERITIES[hint.severity]), f"{hint.words} {hint.fix}")
        for hint in system.hints
    ]
    machines = table(nodes, {"cpu": "CPU", "speed": "speed", "memory": "memory used", "disk": "disk free"}, "machine")
    shown = {"pid": "id", "cpu": "CPU", "memory": "memory", "work": "current work", "uptime": "uptime"}
    return Group(head, totals, known, Text(), machines, Text(), table(processes, shown, "process"), Text(), *hints)


def table(rows: list[SystemRow], columns: dict[str, str], name: str) -> Table:
    drawn_table = Table(name, "state", *columns.values(), box=None, pad_edge=False, header_style="dim")
    for row in rows:
        state = Text(f"{SIGNS[row.badge]} {row.cells['state']}", style=STYLES[row.badge])
        drawn_table.add_row(Text(row.name, style="bold"), state, *(Text(row.cells[key]) for key in columns))
    if not rows:
        drawn_table.add_row(Text("none", style="dim"))
    return drawn_table
