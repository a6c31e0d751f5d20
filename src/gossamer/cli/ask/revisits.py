"""`gossamer revisits`: which pages are fetched again, when, and why then."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gossamer.base.clock import Instant
from gossamer.base.errors import ConfigError
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import console, table
from gossamer.collection.state import CollectionState
from gossamer.collection.tables import Revisit, revisit_of, revisits_csv
from gossamer.frontier.reports import remembered
from gossamer.store.directory import DEFAULT
from gossamer.store.state import open_state
from gossamer.values.format import as_json, counted, harmless, json_bytes, lasting, moment

NEVER = "this collection has no revisits: gossamer crawl --forever revisits pages"
_NEVER_DUE = 1 << 62


def revisits(
    *,
    host: Annotated[str | None, Parameter(help="Only the pages of this host.")] = None,
    due: Annotated[bool, Parameter(help="Only pages that are due now.")] = False,
    limit: Annotated[int, Parameter(help="Number of pages to show, those due first; 0: all.")] = 20,
    export: Annotated[Path | None, Parameter(help="Write all of them to this file: .csv, or .jsonl.")] = None,
    dir: Dir = DEFAULT,
    json: Json = False,
) -> int:
    collection = CollectionState.open(dir)
    now = collection.outside.dates.now()
    with closing(open_state(collection.directory)) as state:
        every = (revisit_of(one) for one in remembered(state, host.strip().lower() if host else None))
        wanted = (one for one in every if not due or (one.due_at is not None and one.due_at <= now))
        is_cut = limit > 0 and export is None
        rows = nsmallest(limit, wanted, key=order) if is_cut else sorted(wanted, key=order)
    if export is not None:
        collection.outside.files.write(export, b"".join(lines_of(rows, export)))
    if json:
        print(as_json(rows))
    elif export is not None:
        print(f"{counted(len(rows), 'page')} written to {export}")
    elif rows:
        show(rows, now, console())
    else:
        print("nothing is due now" if due else NEVER)
    return 0


def order(one: Revisit) -> tuple[int, str]:
    """Due pages first, pages without a revisit last."""
    return _NEVER_DUE if one.due_at is None else one.due_at, one.url


def lines_of(rows: Iterable[Revisit], path: Path) -> Iterator[bytes]:
    """The pages as CSV or JSON lines. Raises ConfigError for any other kind of file."""
    match path.suffix:
        case ".jsonl":
            yield from (json_bytes(one) + b"\n" for one in rows)
        case ".csv":
            yield from revisits_csv(rows)
        case _:
            raise ConfigError(f"{path}: give a file name that ends in .csv or .jsonl")


def show(rows: list[Revisit], now: Instant, out: Console) -> None:
    pages = table("page", "due (UTC)", "every", "changes/day", "last fetch (UTC)", "changed", "why")
    for one in islice(rows, 1000):
        every = lasting(one.every_days * 86_400) if one.every_days is not None else ""
        found = f"{one.changes} of {min(8, one.visits)}" if one.visits else "first fetch"
        pages.add_row(
            harmless(one.url),
            "not waiting" if one.due_at is None else moment(one.due_at, now),
            every,
            f"{one.changes_a_day:g}",
            moment(one.visited_at, now),
            found,
            one.says,
        )
    out.print(pages)
