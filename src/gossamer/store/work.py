"""The work of a cluster's indexers: which records a view does not have yet (decision 31).

A row is a segment and a view. The transaction that settles a segment adds its rows; they are deleted once the view has
the pages. All instants are by the clock of the database.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.store.segments import VIEWS
from gossamer.store.statements import State, load
from gossamer.values.capture import Place
from gossamer.values.url import Url

SQL = load("gossamer.store", "work.sql")
LEASE_S = 60.0
"""How long an indexer that has died keeps its rows."""
MOST_TRIES = 3
"""After so many failures a row is set aside."""
RETRY_S = 20.0
"""How soon a row that failed is tried again; longer each time."""
ENDED = "the indexers that had it ended before they were done, {} times"


class ViewWork(NamedTuple):
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


def backlog(state: State) -> list[ViewWork]:
    """For each view, also for those without any. REQUIRES: the state of a cluster."""
    found = {
        view: ViewWork(view, records, rebuild, oldest_at, (age or 0) / SECOND, set_aside)
        for view, records, rebuild, oldest_at, age, set_aside in state.execute(SQL["backlog"]).fetchall()
    }
    return [found.get(view, ViewWork(view, 0, 0, None, 0.0, 0)) for view in VIEWS]


def set_aside(state: State, at_most: int = 100) -> list[SetAside]:
    """The latest first."""
    rows = state.execute(SQL["set_aside"], {"at_most": at_most}).fetchall()
    return [SetAside(volume, view, first, beyond, at, why or "") for volume, view, first, beyond, at, why in rows]


def retry_set_aside(state: State) -> int:
    """Let the indexers try again what was set aside; returns the number of rows."""
    return state.execute(SQL["retried"]).rowcount


def add_all(state: State, views: Sequence[str] = VIEWS) -> int:
    """Let these views take every segment again; returns how many rows were added."""
    return sum(state.execute(SQL["added_again"], {"view": view}).rowcount for view in views)


# For indexers: each works on the rows that it has leased.


class WorkRow(NamedTuple):
    """Records of one segment that one view needs."""

    id: int
    volume_id: int
    volume: str
    view: str
    first: int
    beyond: int
    is_rebuild: bool
    tries: int
    age_s: float
    """How long it has waited."""


class SegmentCapture(NamedTuple):
    """A capture in a segment, as the catalogue has it."""

    place: Place
    version: int
    is_unread: bool
    """No reader could read it."""
    is_replaced: bool
    """A later capture of the page, with a body, is in the catalogue."""


def lease(state: State, by: str, views: Mapping[str, int], records: int) -> list[WorkRow]:
    """The oldest rows of these views, for so many segments of each and about so many records. Segments that are read
    for one view are taken for the others too; a view that has none of them gets its own oldest."""
    found: list[WorkRow] = []
    left = list(views)
    lasting = int(LEASE_S * SECOND)
    while left:
        view = left.pop(0)
        asked = {"view": view, "by": by, "most": views[view], "records": records, "lasting": lasting}
        rows = _rows(state.execute(SQL["leased"], asked).fetchall())
        dead = [row for row in rows if row.tries >= MOST_TRIES]
        for row in dead:
            fail(state, by, row, row.first, row.beyond, ENDED.format(row.tries))
        rows = [row for row in rows if row not in dead]
        if rows and left:
            volumes = sorted({row.volume_id for row in rows})
            more = {"views": left, "volumes": volumes, "by": by, "lasting": lasting}
            shared = _rows(state.execute(SQL["leased_with"], more).fetchall())
            left = [one for one in left if one not in {row.view for row in shared}]
            rows += shared
        found += rows
    return found


def _rows(found: Iterable[tuple[int, int, str, str, int, int, int, int, int]]) -> list[WorkRow]:
    return sorted(WorkRow(*one[:6], bool(one[6]), one[7], one[8] / SECOND) for one in found)


def renew(state: State, by: str, ids: Collection[int]) -> None:
    if ids:
        state.execute(SQL["renewed"], {"ids": list(ids), "by": by, "lasting": int(LEASE_S * SECOND)})


def release(state: State, by: str, ids: Collection[int], after_s: float = 0.0) -> None:
    """Not a failure: another indexer may do it."""
    if ids:
        state.execute(SQL["released"], {"ids": list(ids), "by": by, "after": int(after_s * SECOND)})


def fail(state: State, by: str, row: WorkRow, first: int, beyond: int, why: str) -> bool:
    """A view could not take these records of the row; the others it has. Returns whether they are set aside now."""
    asked = {"id": row.id, "by": by, "first": first, "beyond": beyond, "why": why}
    asked |= {"after": int(RETRY_S * SECOND), "most_tries": MOST_TRIES}
    found = state.execute(SQL["failed"], asked).fetchone()
    return found is not None and bool(found[0])


def finish(state: State, rows: Collection[WorkRow]) -> list[str]:
    """The view has their pages for good. Returns the segments that no view waits for any more: the lock makes sure that
    of two indexers that finish the last rows of a segment, one sees it."""
    if not rows:
        return []
    volumes = {"volumes": sorted({row.volume_id for row in rows})}
    state.execute(SQL["locked"], volumes).fetchall()
    state.execute(SQL["done"], {"ids": [row.id for row in rows]})
    return [name for (name,) in state.execute(SQL["finished"], volumes).fetchall()]


def catalogued(state: State, rows: Collection[WorkRow]) -> dict[str, list[SegmentCapture]]:
    """By segment, what the catalogue has of it."""
    names = {row.volume_id: row.volume for row in rows}
    found: dict[str, list[SegmentCapture]] = {name: [] for name in names.values()}
    for volume, *place, version, is_unread, is_replaced in state.execute(
        SQL["catalogued"], {"volumes": list(names)}
    ).fetchall():
        one = SegmentCapture(Place(names[volume], *place), version, bool(is_unread), bool(is_replaced))
        found[names[volume]].append(one)
    return found


def was_page_before(state: State, place: Place) -> bool:
    """Whether an earlier capture of the URL of this one was a page."""
    asked = {"volume": place.volume, "number": place.number}
    return state.execute(SQL["was_page_before"], asked).fetchone() is not None


def last_version(state: State) -> int:
    """A version that all captures in the catalogue are below, and all later ones above. Inside a transaction."""
    state.execute(SQL["captures_locked"])
    return int(state.execute(SQL["next_version"]).fetchone()[0])


def pages_among(state: State, urls: Sequence[Url]) -> set[str]:
    """Those of which the catalogue has a page."""
    asked = {"hosts": [url.host.id for url in urls], "ids": [url.id for url in urls]}
    return {text for (text,) in state.execute(SQL["pages_among"], asked).fetchall()}
