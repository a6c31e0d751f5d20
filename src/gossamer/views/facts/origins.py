"""Where the facts of pages are in their markup, for a cluster: the records of `sources.db` as rows of its database.

A record counts only together with the capture that the stored facts are from. So it does not matter whether the facts
or the record of a page are written first, and a record that is a little older or newer is merely unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.store.statements import State, load
from gossamer.values.page import Reading
from gossamer.values.url import id_of
from gossamer.views.facts.sources import graph_name

SQL = load("gossamer.views.facts", "origins.sql")


class PageOrigins(NamedTuple):
    """The record of one page."""

    id: int
    """Of the name of its graph."""
    version: int
    capture_id: int
    record: bytes
    """As `extract.origins` packs it; empty for a page without facts."""


def origins_in(reading: Reading) -> PageOrigins:
    record = reading.sources if reading.page.directives.may_index else b""
    return PageOrigins(id_of(graph_name(reading.page.url)), reading.order, reading.capture_id, record)


def put_origins(state: State, given: Iterable[PageOrigins]) -> None:
    """Inside the caller's transaction. Rows are written in order of their ids, so two writers never block each other
    for good."""
    newest: dict[int, PageOrigins] = {}
    for one in sorted(given):
        newest[one.id] = one
    kept = [one for one in newest.values() if one.record]
    gone = [one for one in newest.values() if not one.record]
    if kept:
        ids, versions, captures, records = zip(*kept, strict=True)
        columns = {"ids": list(ids), "versions": list(versions), "captures": list(captures), "records": list(records)}
        state.execute(SQL["put_origins"], columns)
    if gone:
        state.execute(SQL["drop_origins"], {"ids": [one.id for one in gone], "versions": [one.version for one in gone]})


def origin_records(state: State, captures: Mapping[str, int]) -> dict[str, bytes]:
    """By page, the packed records of those whose facts are from these captures; pages are named by their graphs."""
    names = {id_of(graph): graph for graph in captures}
    if not names:
        return {}
    wanted: Sequence[int] = [captures[graph] for graph in names.values()]
    rows = state.execute(SQL["origins_of"], {"ids": list(names), "captures": list(wanted)}).fetchall()
    return {names[number]: bytes(record) for number, record in rows}
