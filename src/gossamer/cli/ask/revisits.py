"""`gossamer revisits`: which pages are visited again, when, and why then."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.base.errors import ConfigError
from gossamer.collection.directory import existing, outside_of
from gossamer.frontier.reports import Remembered, remembered
from gossamer.recrawl.rates import IGNORANT, likely_rate, posterior
from gossamer.store.directory import DEFAULT
from gossamer.store.state import open_state
from gossamer.values.format import as_json, counted, csv_safe, harmless, json_bytes, lasting, moment
from gossamer.values.history import IN_WORDS, Why

NEVER = "this collection has no revisits: gossamer crawl --forever revisits pages"
COLUMNS = (
    "url", "host", "due_at", "why", "says", "visited_at", "changed_at", "visits", "changes", "changes_a_day",
    "every_days", "gone",
)  # fmt: skip
_NEVER_DUE = 1 << 62


class Revisit(msgspec.Struct, frozen=True):
    """A page that comes again, as far as visits have taught."""

    url: str
    host: str
    due_at: Instant | None
    why: str
    """A stable code: why it is due then."""
    says: str
    visited_at: Instant
    changed_at: Instant | None
    """The last visit that found a change that counts."""
    visits: int
    """Those that could compare it with an earlier one."""
    changes: int
    """Of the last eight of them, those that found a change."""
    changes_a_day: float
    """Estimated."""
    every_days: float | None
    """From its last visit to the next one that is planned."""
    gone: int = 0
    """Visits in a row that found it gone."""


def revisits(
    *,
    host: Annotated[str | None, Parameter(help="Only the pages of this host.")] = None,
    due: Annotated[bool, Parameter(help="Only pages that are due now.")] = False,
    limit: Annotated[int, Parameter(help="Number of pages to show, those due first; 0: all.")] = 20,
    export: Annotated[Path | None, Parameter(help="Write all of them to this file: .csv, or .jsonl.")] = None,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    now = outside.dates.now()
    with closing(open_state(directory)) as state:
        every = (revisit_of(one) for one in remembered(state, host.strip().lower() if host else None))
        wanted = (one for one in every if not due or (one.due_at is not None and one.due_at <= now))
        if export is not None:
            rows = sorted(wanted, key=order)
            outside.files.write(export, b"".join(lines_of(rows, export)))
        else:
            rows = nsmallest(limit, wanted, key=order) if limit > 0 else sorted(wanted, key=order)
    if json:
        print(as_json(rows))
    elif export is not None:
        print(f"{counted(len(rows), 'page')} written to {export}")
    elif rows:
        show(rows, now, Console())
    else:
        print("nothing is due now" if due else NEVER)
    return 0


def revisit_of(one: Remembered) -> Revisit:
    past, history = one.past, one.past.known
    is_known = past.why in set(Why)
    return Revisit(
        url=one.url,
        host=one.host,
        due_at=one.due_at,
        why=past.why,
        says=IN_WORDS[Why(past.why)]
        if is_known
        else "it is checked again, less and less often"
        if past.gone
        else past.why,
        visited_at=past.visited_at,
        changed_at=past.changed_at or None,
        visits=history.visits,
        changes=(history.recent & 0xFF).bit_count(),
        changes_a_day=round(likely_rate(posterior(history, IGNORANT)), 4),
        every_days=None if one.due_at is None else round((one.due_at - past.visited_at) / SECOND / 86_400, 3),
        gone=past.gone,
    )


def order(one: Revisit) -> tuple[int, str]:
    """Those due first; those that wait for nothing last."""
    return _NEVER_DUE if one.due_at is None else one.due_at, one.url


def revisits_csv(rows: Iterable[Revisit]) -> Iterator[bytes]:
    yield csv_line(COLUMNS)
    for one in rows:
        cells = {name: getattr(one, name) for name in COLUMNS}
        for name in ("due_at", "visited_at", "changed_at"):
            cells[name] = in_words(cells[name]) if cells[name] is not None else ""
        yield csv_line(cells.values())


def lines_of(rows: Iterable[Revisit], path: Path) -> Iterator[bytes]:
    """Raises ConfigError for a file of another kind."""
    match path.suffix:
        case ".jsonl":
            yield from (json_bytes(one) + b"\n" for one in rows)
        case ".csv":
            yield from revisits_csv(rows)
        case _:
            raise ConfigError(f"{path}: give a file name that ends in .csv or .jsonl")


def csv_line(cells: Iterable[object]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow([csv_safe(one) if isinstance(one, str) else one for one in cells])
    return line.getvalue().encode()


def show(rows: list[Revisit], now: Instant, console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("page", "due (UTC)", "every", "changes/day", "last fetch (UTC)", "changed", "why"):
        table.add_column(name, overflow="fold" if name == "page" else "ellipsis")
    for one in islice(rows, 1000):
        every = lasting(one.every_days * 86_400) if one.every_days is not None else ""
        found = f"{one.changes} of {min(8, one.visits)}" if one.visits else "first fetch"
        table.add_row(
            Text(harmless(one.url)),
            "not waiting" if one.due_at is None else moment(one.due_at, now),
            every,
            f"{one.changes_a_day:g}",
            moment(one.visited_at, now),
            found,
            Text(one.says),
        )
    console.print(table, highlight=False)
