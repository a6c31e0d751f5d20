"""Verification of every record of the archive, of the databases and the views.

Also the repair of records from a backup.
"""

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import ArchivePlaces
from gossamer.archive.repair import DamagedCopy
from gossamer.archive.segments.files import ClusterFiles
from gossamer.archive.segments.joins import damage_of
from gossamer.archive.verify import Finding, repair, verified
from gossamer.base.clock import Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, DirectoryBusy
from gossamer.base.tell import Says, silent, unheard
from gossamer.collection.directory import locked
from gossamer.collection.maintenance.copy_check import CopyReport, Repairs, checked_copies, may_return, repaired_copies
from gossamer.collection.maintenance.rebuild import unfinished
from gossamer.collection.maintenance.view_check import ViewCheck, ViewState, checked_databases
from gossamer.crawler.commands import idle_frontier
from gossamer.crawler.damage import mark_of, refetch_damaged
from gossamer.indexer.process import rereading
from gossamer.store import captures
from gossamer.store.directory import Directory, lock_directory
from gossamer.store.options import config_of
from gossamer.store.state import open_database, open_state
from gossamer.store.statements import State
from gossamer.values.format import counted, harmless


class DamagedRecord(msgspec.Struct, frozen=True):
    volume: str
    number: int
    offset: int
    length: int
    why: str
    url: str = ""
    """Empty: the catalogue has no capture there, so none is lost."""
    fetched_at: Instant | None = None
    is_acknowledged: bool = False

    def in_words(self) -> str:
        what = f"{harmless(self.url)} of {in_words(self.fetched_at)[:19]}Z" if self.fetched_at else "no capture"
        return f"{what} ({self.volume}, record {self.number} at byte {self.offset:,}): {harmless(self.why)}"


class VerifyReport(msgspec.Struct, frozen=True):
    is_whole: bool
    volumes: int
    records: int
    """Those that match the catalogue."""
    unknown_records: int
    """Intact records that are not in the catalogue: not acknowledged yet, or stored twice."""
    damaged: list[DamagedRecord]
    repaired: list[DamagedRecord] = []
    due_again: int = 0
    """Pages that the next crawl fetches again."""
    is_marked: bool = True
    """Whether the damage was recorded in state.db; not while another process writes to it."""
    databases: list[ViewState] = []
    views: list[ViewState] = []
    copies: list[DamagedCopy] = []
    """Of an archive on several disks: damaged and missing copies, and disks that are away."""
    copies_made: int = 0
    """Copies that were made again."""


class Checked(msgspec.Struct, frozen=True):
    """The result of reading the volumes."""

    volumes: list[str]
    records: int
    unknown_records: int
    findings: list[Finding]


class Verification:
    """One run over a collection."""

    def __init__(self, directory: Directory, outside: Outside, agent: str = "", says: Says = unheard) -> None:
        """`agent`: the name by which pages may ask us not to index them."""
        self._directory, self._outside, self._agent, self._says = directory, outside, agent, says

    async def run(
        self, volume: str | None, backup: Path | None, is_accepted: bool, repairs: Repairs | None = None
    ) -> VerifyReport:
        """Can run during a crawl; repairs, marks and acknowledges only as the directory's one writer."""
        databases = checked_databases(self._directory)
        if any(one.error and one.name == self._directory.state.name for one in databases):
            return VerifyReport(False, 0, 0, 0, [], is_marked=False, databases=databases)
        if repairs is not None:
            with locked(self._directory, self._outside, "verify"):
                self._outside, copies = repaired_copies(self._directory, self._outside, repairs, volume, self._says)
        else:
            copies = checked_copies(self._directory, self._outside.files, volume, self._says)
        found = checked_volumes(self._directory, self._outside, volume, self._says)
        try:
            lock = lock_directory(self._directory, self._outside, "verify")
        except DirectoryBusy:
            if backup is not None or is_accepted:
                raise
            views = await self._views(is_alone=False)
            return with_copies(self._report(found, [*databases, *views], is_marked=False), copies)
        try:
            repaired = self._repaired(found, backup) if backup is not None else []
            left = [one for one in found.findings if one not in repaired]
            whole = found.records + sum(one.kept is not None for one in repaired)
            found = msgspec.structs.replace(found, findings=left, records=whole)
            due_again = await self._mark(found, is_accepted)
            views = await self._views(is_alone=True)
        finally:
            lock.release()
        return with_copies(self._report(found, [*databases, *views], repaired, due_again), copies)

    def _repaired(self, found: Checked, backup: Path) -> list[Finding]:
        done: list[Finding] = []
        copy = backup / self._directory.archive.name
        with closing(open_state(self._directory)) as state:
            for name, some in groupby(found.findings, key=lambda one: one.volume):
                self._says(f"repairing {name}")
                done += repair(self._outside.files, self._directory.archive, copy, state, list(some))
        for name in unfinished(self._directory, self._outside.files) if done else ():
            self._outside.files.remove(self._directory.root / name)  # they may lack what was damaged
        return done

    async def _views(self, is_alone: bool) -> list[ViewState]:
        async with rereading(self._directory, self._agent, self._outside, silent) as reread:
            return await ViewCheck(self._directory, self._outside, reread, is_alone).run(self._says)

    async def _mark(self, found: Checked, is_accepted: bool) -> int:
        """How many pages are due again: those whose newest content was newly found damaged."""
        now = self._outside.clock.now()
        files = self._outside.files
        lost = [one for one in found.findings if not may_return(self._directory, files, one)]
        found = msgspec.structs.replace(found, findings=lost)

        def mark(state: State) -> None:
            captures.replace_marks(state, found.volumes, list(map(mark_of, found.findings)), now)
            if is_accepted:
                captures.acknowledge_marks(state, found.volumes, now)

        async with open_database(self._directory, self._outside.clock, silent) as database:
            due_again = 0
            if found.findings:
                async with idle_frontier(database, config_of(self._directory.root).settings, self._outside) as frontier:
                    due_again = await refetch_damaged(database, frontier, found.findings)
            await database.run(mark)
        return due_again

    def _report(
        self,
        found: Checked,
        checked: list[ViewState],
        repaired: Sequence[Finding] = (),
        due_again: int = 0,
        is_marked: bool = True,
    ) -> VerifyReport:
        with closing(open_state(self._directory)) as state:
            accepted = captures.acknowledged_marks(state)
        damaged = [record_of(one, (one.volume, one.number) in accepted) for one in found.findings]
        is_whole = all(one.is_acknowledged for one in damaged) and not any(one.error for one in checked)
        return VerifyReport(
            is_whole=is_whole,
            volumes=len(found.volumes),
            records=found.records,
            unknown_records=found.unknown_records,
            damaged=damaged,
            repaired=[record_of(one, False) for one in repaired],
            due_again=due_again,
            is_marked=is_marked,
            databases=checked[:1],
            views=checked[1:],
        )


def with_copies(report: VerifyReport, copies: CopyReport) -> VerifyReport:
    is_whole = report.is_whole and not copies.damaged
    return msgspec.structs.replace(report, is_whole=is_whole, copies=list(copies.damaged), copies_made=copies.made)


def checked_volumes(directory: Directory, outside: Outside, volume: str | None, says: Says) -> Checked:
    """Every record of one volume, or of all. Raises ConfigError for an unknown volume."""
    names = ArchivePlaces(outside.files, directory.archive, directory).known_volumes()
    if volume is not None and volume not in names:
        raise ConfigError(f"there is no volume {volume}; volumes are in {directory.archive}")
    wanted = names if volume is None else [volume]
    records, unknown, findings = 0, 0, list[Finding]()
    with closing(open_state(directory)) as state:
        for number, name in enumerate(wanted, 1):
            before = len(findings)
            for one in verified(outside.files, directory.archive, state, name):
                if isinstance(one, Finding):
                    findings.append(one)
                else:
                    records, unknown = records + one.is_known, unknown + (not one.is_known)
                says(
                    f"verifying volume {number} of {len(wanted)}: {counted(records, 'record')} whole, "
                    f"{len(findings):,} damaged"
                )
            if len(findings) == before and isinstance(outside.files, ClusterFiles):
                findings += changed_segment(outside.files, name)
    return Checked(wanted, records, unknown, findings)


def changed_segment(files: ClusterFiles, name: str) -> list[Finding]:
    """A segment whose records can be read, and whose bytes are not those that were stored."""
    segment = files.segment(name, is_fresh=True)
    why = damage_of(files.storage, segment) if segment is not None else ""
    return [Finding(name, 0, 0, segment.size, why)] if segment is not None and why else []


def record_of(one: Finding, is_acknowledged: bool) -> DamagedRecord:
    place = (one.volume, one.number, one.offset, one.length)
    return DamagedRecord(*place, one.why, one.url, one.fetched_at, is_acknowledged)
