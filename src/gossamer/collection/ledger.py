"""The check of politeness: the frontier's ledger of gaps, compared with the archive."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise

import msgspec

from gossamer.archive.reader import read_capture
from gossamer.base.clock import SECOND, Instant
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.frontier.api import Ledger
from gossamer.frontier.reports import ledger
from gossamer.store.captures import CapturedAt, moments
from gossamer.store.directory import Directory
from gossamer.store.state import open_snapshot
from gossamer.values.format import counted

TOLERANCE_S = 0.005
"""The start of a fetch is read from the wall clock, its length from a monotonic one."""


class ArchivedFetch(msgspec.Struct, frozen=True):
    """A fetch as the archive knows it; `took_s` is None until its record is opened."""

    at: Instant
    url: str
    took_s: float | None = None


class ArchivedGaps(msgspec.Struct, frozen=True):
    """What the archive shows of one host."""

    visits: int = 0
    least_s: float | None = None
    """The shortest time between the starts of two fetches or, where records were opened, the shortest gap."""
    after: str = ""
    before: str = ""
    """The two fetches it is between."""
    unjudged: int = 0
    """Pairs that prove nothing: the clock was set back between them, or one was made by another program."""


class LedgerRow(msgspec.Struct, frozen=True):
    """One host of the ledger, and the result of the check."""

    host: str
    visits: int
    promised_s: float
    least_s: float | None
    mean_s: float | None
    broken: int
    archive: ArchivedGaps
    contradiction: str = ""
    """Where the archive shows a shorter gap than the ledger admits."""

    @property
    def is_kept(self) -> bool:
        return not self.broken and not self.contradiction


class Report(msgspec.Struct, frozen=True):
    hosts: int
    visits: int
    broken: int
    contradictions: int
    is_deep: bool
    rows: tuple[LedgerRow, ...]
    """Worst first."""

    @property
    def is_kept(self) -> bool:
        return not self.broken and not self.contradictions


def checked(directory: Directory, files: Files, is_deep: bool, says: Callable[[str], None]) -> Report:
    """Every host of the ledger compared with the archive. `is_deep`: every record is opened."""

    def row_of(entry: Ledger, captured: Sequence[CapturedAt]) -> LedgerRow:
        """The start times reveal a fetch that came far too soon; only the records of the pair show the gap itself."""
        ordered = sorted(captured, key=lambda one: (one.place.volume, one.place.number))
        seen = [ArchivedFetch(one.at, one.url.text) for one in ordered]
        close = [near for place in suspects(seen, entry.least_gap_s) for near in (place, place + 1)]
        for place in range(len(seen)) if is_deep else sorted(set(close)):
            try:
                capture = read_capture(files, directory.archive, ordered[place].place)
            except ArchiveDamaged:  # its end is lost: the gap is counted from its start
                capture = None
            seen[place] = msgspec.structs.replace(seen[place], took_s=capture.took_s if capture is not None else 0.0)
        archive = kept_by(seen)
        against = contradiction(entry.least_gap_s, archive)
        gaps = (entry.gap_s, entry.least_gap_s, entry.mean_gap_s)
        return LedgerRow(entry.host, entry.visits, *gaps, entry.broken, archive, against)

    rows = []
    with closing(open_snapshot(directory)) as state:
        unchecked = {entry.host: entry for entry in ledger(state) if entry.visits}
        for name, captured in moments(state):
            if entry := unchecked.pop(name, None):  # a host without fetches of ours was imported
                rows.append(row_of(entry, captured))
                says(f"checking: {counted(len(rows), 'host')}")
    return reported([*rows, *(row_of(entry, []) for entry in unchecked.values())], is_deep)


def pairs(visits: Sequence[ArchivedFetch]) -> Iterator[tuple[ArchivedFetch, ArchivedFetch, float]]:
    """Neighbours, and the time between their starts. REQUIRES: in the order they were archived."""
    for one, other in pairwise(visits):
        yield one, other, (other.at - one.at) / SECOND


def suspects(visits: Sequence[ArchivedFetch], admitted_s: float | None) -> list[int]:
    """Places of fetches followed sooner than any gap the ledger records: only their records tell for certain."""
    if admitted_s is None:
        return []
    found = enumerate(pairs(visits))
    return [place for place, (_, _, apart_s) in found if 0 <= apart_s < admitted_s - TOLERANCE_S]


def kept_by(visits: Sequence[ArchivedFetch]) -> ArchivedGaps:
    """The shortest gap, measured from the end of a fetch of known length, else from its start.

    A length of zero means that the capture was imported, and proves nothing about our politeness.
    """
    least: tuple[float, str, str] | None = None
    unjudged = 0
    for one, other, apart_s in pairs(visits):
        if apart_s < 0 or one.took_s == 0.0 or other.took_s == 0.0:
            unjudged += 1
            continue
        gap_s = apart_s - (one.took_s or 0.0)
        if least is None or gap_s < least[0]:
            least = (gap_s, one.url, other.url)
    if least is None:
        return ArchivedGaps(len(visits), unjudged=unjudged)
    return ArchivedGaps(len(visits), *least, unjudged)


def contradiction(admitted_s: float | None, archive: ArchivedGaps) -> str:
    """In words; empty if the archive agrees. A fetch may start after it was leased, never before."""
    if admitted_s is None or archive.least_s is None or archive.least_s >= admitted_s - TOLERANCE_S:
        return ""
    return (
        f"the archive shows {archive.least_s:.3f} s between {archive.after} and {archive.before}, "
        f"and the ledger at least {admitted_s:.3f} s"
    )


def worst_first(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Broken gaps first, then contradictions, then by how little the gap exceeded the promised one."""

    def badness(row: LedgerRow) -> tuple[int, bool, float, str]:
        slack = (row.least_s - row.promised_s) if row.least_s is not None else float("inf")
        return -row.broken, not row.contradiction, slack, row.host

    return sorted(rows, key=badness)


def reported(rows: Sequence[LedgerRow], is_deep: bool) -> Report:
    return Report(
        hosts=len(rows),
        visits=sum(row.visits for row in rows),
        broken=sum(row.broken for row in rows),
        contradictions=sum(1 for row in rows if row.contradiction),
        is_deep=is_deep,
        rows=tuple(worst_first(rows)),
    )
