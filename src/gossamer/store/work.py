"""The work of a cluster's indexers: which records of which segments a view does not have yet (decision 31).

A row is a segment and a view. The transaction that settles a segment adds its rows; they are deleted once the view has
the pages. All instants are by the clock of the database.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.store.statements import State, load

SQL = load("gossamer.store", "work.sql")
VIEWS = ("words", "facts", "links")
"""The views that have rows for each segment."""


class ViewBacklog(NamedTuple):
    """What waits for one view."""

    view: str
    records: int
    """New ones."""
    rebuild_records: int
    """Those of a rebuild: they are no reason to fetch less."""
    oldest_at: Instant | None
    """When the oldest of the new ones was added."""
    age_s: float
    """How long that is ago."""
    set_aside: int
    """Segments that failed too often."""


class SetAside(NamedTuple):
    """Records that a view could not take, and why."""

    volume: str
    view: str
    first: int
    beyond: int
    at: Instant
    why: str


def backlog(state: State) -> list[ViewBacklog]:
    """For each view, also for those without any. REQUIRES: the state of a cluster."""
    found = {
        view: ViewBacklog(view, records, rebuild, oldest_at, (age or 0) / SECOND, set_aside)
        for view, records, rebuild, oldest_at, age, set_aside in state.execute(SQL["backlog"]).fetchall()
    }
    return [found.get(view, ViewBacklog(view, 0, 0, None, 0.0, 0)) for view in VIEWS]


def set_aside(state: State, at_most: int = 100) -> list[SetAside]:
    """The latest first."""
    rows = state.execute(SQL["set_aside"], {"at_most": at_most}).fetchall()
    return [SetAside(*row[:5], row[5] or "") for row in rows]


def retry_set_aside(state: State) -> int:
    """Let the indexers try again what was set aside; returns the number of rows."""
    return state.execute(SQL["retried"]).rowcount


def add_all(state: State, views: Sequence[str] = VIEWS) -> int:
    """Let these views take every segment again; returns how many rows were added."""
    return sum(state.execute(SQL["added_again"], {"view": view}).rowcount for view in views)
