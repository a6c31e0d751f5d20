"""Where the facts of pages are in their markup, as rows of a cluster's database.

A record counts only together with the capture that the stored facts are from. So it does not matter whether the facts
or the record of a page are written first, and a record that is a little older or newer is merely unknown.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gossamer.store.statements import State, load
from gossamer.values.page import Reading
from gossamer.values.url import id_of
from gossamer.views.facts.sources import graph_name

AT_ONCE = 100
MOST_BYTES = 40 << 20
SQL = load("gossamer.views.facts", "origins.sql")


class PageOrigins(NamedTuple):
    """The record of one page."""

    id: int
    """Of the name of its graph."""
    version: int
    capture_id: int
    record: bytes
    """As `extract.origins` packs it; empty for a page without facts, which keeps older records out."""


def origins_in(reading: Reading) -> PageOrigins:
    record = reading.sources if reading.page.directives.may_index else b""
    return PageOrigins(id_of(graph_name(reading.page.url)), reading.order, reading.capture_id, record)


def put_origins(state: State, given: Iterable[PageOrigins]) -> None:
    """Inside the caller's transaction. Rows are written in order of their ids, so two writers never block each other
    for good."""
    newest: dict[int, PageOrigins] = {}
    for one in sorted(given):
        newest[one.id] = one
    if newest:
        ids, versions, captures, records = zip(*newest.values(), strict=True)
        columns = {"ids": list(ids), "versions": list(versions), "captures": list(captures), "records": list(records)}
        state.execute(SQL["put_origins"], columns)


def origin_records(state: State, captures: Mapping[str, int], most_bytes: int = MOST_BYTES) -> dict[str, bytes]:
    """By page, the packed records of those whose facts are from these captures; pages are named by their graphs. What
    is beyond `most_bytes` stays unknown."""
    found: dict[str, bytes] = {}
    graphs, size = list(captures), 0
    for start in range(0, len(graphs), AT_ONCE):
        names = {id_of(graph): graph for graph in graphs[start : start + AT_ONCE]}
        asked = {"ids": list(names), "captures": [captures[graph] for graph in names.values()]}
        for number, record in state.execute(SQL["origins_of"], asked).fetchall():
            size += len(record)
            if size > most_bytes:
                return found
            found[names[number]] = bytes(record)
    return found
