"""The state of a collection and of the processes working on it, and the heartbeat of a web process."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

import msgspec

from gossamer.archive.directories import ArchiveStatus, DiskStatus, archive_status
from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Outside
from gossamer.base.errors import WorkerLost
from gossamer.base.tell import silent
from gossamer.collection.maintenance.cluster_views import waiting
from gossamer.collection.maintenance.compact import Compacted, compaction_plan
from gossamer.collection.maintenance.view_check import UnusableView, unusable
from gossamer.collection.views import is_indexing
from gossamer.config.settings import Settings
from gossamer.config.slices import retain_of
from gossamer.monitor import chronicle
from gossamer.monitor.choice import control_of, line_of
from gossamer.monitor.chronicle import Chronicle
from gossamer.monitor.cluster_texts import with_figures
from gossamer.monitor.control import BEAT_S, Control, ProcessStatus, Sample, running_processes
from gossamer.monitor.hints import MIB, Hint, HostSums, Overview, hints, survey
from gossamer.monitor.nodes import ClusterState, NodeRegistry
from gossamer.monitor.pulse import ProcessReport, Pulse, ThisMachine
from gossamer.monitor.system import System, averages_of, listed, most, state_of, totals_of
from gossamer.store import captures, forgotten, tallies
from gossamer.store.captures import MarkCounts
from gossamer.store.directory import Directory
from gossamer.store.documents import archive_bytes
from gossamer.store.state import is_cluster, open_state
from gossamer.store.statements import State
from gossamer.store.work import SetAside, ViewWork
from gossamer.values.visit import Counts
from gossamer.views.facts.sparql import FactQueries
from gossamer.workers.pool import Pool
from gossamer.workers.protocol import Barriers, Limits, echo

QUERY_WORKER = "query worker"
LATEST_EVENTS = 20
LOOK_OVER_S = 15.0
"""How old sizes on disk and the survey of hosts may be: both read many entries."""
LAG_SINCE_S = 120.0
READ_AGAIN_S = 2.0
CONTROL_MISSED = Hint(
    "control-damaged",
    "warning",
    "control.db is damaged or unreadable, so no running process can be seen.",
    "It holds nothing of the collection: `gossamer crawl` makes a new one. Check its owner and mode first.",
)
COUNTED = ("known", "settled", "queued", "leased", "pages", "captures", "hosts", "quarantined", "retired")


@dataclass(slots=True)
class Watch:
    """Watches a collection and the processes working on it. REQUIRES: `control` is open. Any thread."""

    directory: Directory
    settings: Settings
    outside: Outside
    control: Control
    streams: int = 0
    _looked_s: float | None = None
    _survey: HostSums = field(default_factory=HostSums)
    _sizes: dict[str, int] = field(default_factory=dict)
    archive: ArchiveStatus = field(default_factory=ArchiveStatus)
    """Of the disks of the archive, as old as the sizes."""
    _chronicle: tuple[float, Chronicle] | None = None
    """With the time it was read."""
    _registry: NodeRegistry | None = None

    @property
    def registry(self) -> NodeRegistry | None:
        """The nodes of a cluster; None: not on a cluster."""
        if self._registry is None and self.control.is_shared:
            self._registry = NodeRegistry(line_of(self.directory, self.outside.clock), self.outside.clock)
        return self._registry

    def close(self) -> None:
        if self._registry is not None:
            self._registry.line.close()

    def system(self) -> System:
        now = self.outside.clock.now()
        nodes, processes = listed(self.control.vitals(), now)
        counts = self._counts()
        counters = {name: getattr(counts, name) for name in COUNTED} | self._sizes
        overview = Overview(
            processes,
            nodes,
            counts.by_reason,
            counters,
            self._survey,
            self._lag_before(processes, now),
            has_contact=self.settings.contact is not None,
            low_water=self.settings.archive.low_water_mib * MIB,
            delay_s=self.outside.lasting_s(self.settings.politeness.delay_s),
            archive=self.archive,
        )
        return System(
            at=now,
            state=state_of(processes),
            nodes=nodes,
            processes=processes,
            totals=totals_of(nodes, processes),
            averages=averages_of(nodes),
            counters=counters
            | {
                "visited": sum(counts.by_reason.values()),
                "ready_hosts": self._survey.ready_hosts,
                "waiting_hosts": self._survey.waiting_hosts,
            },
            outcomes=counts.by_reason,
            hints=(*([CONTROL_MISSED] if self.control.is_unusable else ()), *hints(overview)),
            cluster=self._cluster(nodes, processes),
        )

    def _cluster(self, machines: Sequence[ProcessStatus], processes: Sequence[ProcessStatus]) -> ClusterState | None:
        if (registry := self.registry) is None:
            return None
        return ClusterState(
            nodes=with_figures(registry.nodes(), machines, processes),
            services=tuple(registry.services()),
            backlog=tuple(registry.backlog()),
            events=tuple(registry.events(LATEST_EVENTS)),
            version=registry.version(),
        )

    def history(self, since_at: Instant) -> list[Sample]:
        return self.control.history(since_at)

    def chronicle(self) -> Chronicle:
        now_s, known = self.outside.clock.elapsed_s(), self._chronicle
        if known is None or now_s - known[0] > READ_AGAIN_S:
            known = self._chronicle = now_s, chronicle.read(self.outside.files, self.directory.root)
        return known[1]

    def watched(self, streams: int) -> None:
        self.streams = streams

    def _counts(self) -> Counts:
        if not self.directory.is_begun:
            return Counts()
        with closing(open_state(self.directory)) as state:
            now_s = self.outside.clock.elapsed_s()
            if self._looked_s is None or now_s - self._looked_s > LOOK_OVER_S:
                self._looked_s = now_s
                found = survey(state, self.outside.dates.now())
                self._survey = msgspec.structs.replace(found, mean_gap_s=self.outside.lasting_s(found.mean_gap_s))
                self._sizes = self._on_disk(state)
                self.archive = archive_status(self.directory, self.outside.files)
                if self.archive.disks:
                    self._sizes["archive_free_bytes"] = self.archive.room
            return tallies.counts(state)

    def _on_disk(self, state: State) -> dict[str, int]:
        """Of a cluster, what its archive takes; the other services tell the sizes of what they have."""
        at = self.directory
        if is_cluster(at):
            return {"archive_bytes": archive_bytes(state)}
        folders = {"archive": at.archive, "spool": at.spool, "index": at.index, "graph": at.graph}
        files = self.outside.files
        sizes = {
            f"{name}_bytes": sum(files.size(folder / one) or 0 for one in files.names(folder))
            for name, folder in folders.items()
        }
        for name, path in (("links", at.links), ("state", at.state)):
            sizes[f"{name}_bytes"] = sum(files.size(path.with_name(path.name + tail)) or 0 for tail in ("", "-wal"))
        return sizes

    def _lag_before(self, processes: Sequence[ProcessStatus], now: Instant) -> float | None:
        """The lag two minutes ago; None while the index is up to date."""
        if most((one.figures for one in processes if one.name == "crawler"), "words_lag_s") < 1:
            return None
        past = [one for one in self.history(now - round(LAG_SINCE_S * SECOND)) if one.process == "crawler"]
        return past[0].figures.get("words_lag_s") if past else None


async def beat(watch: Watch, queries: FactQueries) -> None:
    outside, machine = watch.outside, ThisMachine(watch.directory.root)
    pulse = Pulse("web", outside.processes.own_pid(), watch.control, machine, outside.clock, QUERY_WORKER)
    with pulse.beating():
        while True:
            report = ProcessReport({"streams": watch.streams})
            await asyncio.to_thread(pulse.beat, report, queries.pids, queries.barriers)
            await outside.clock.sleep(BEAT_S)


MOST_CHECKED = 200_000
"""Captures; they take a second to check."""


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    counts: Counts
    damaged: MarkCounts
    forgetting: list[str]
    """Hosts and pages whose erasure was interrupted."""
    views: list[UnusableView]
    """Those that are unusable."""
    droppable: Compacted | None
    """What the retention settings would delete now; None: everything is kept, or there is too much to check."""
    processes: list[dict[str, object]]
    hints: tuple[Hint, ...]
    disks: tuple[DiskStatus, ...]
    """The directories of an archive on several disks."""
    sandbox: Barriers | None
    """The barriers of a worker started now; None: none could be started."""
    backlog: tuple[ViewWork, ...] = ()
    """On a cluster: what each view does not have yet."""
    set_aside: tuple[SetAside, ...] = ()
    """On a cluster: the latest records that a view could not take."""


def status_of(directory: Directory, settings: Settings, outside: Outside) -> CollectionStatus:
    with closing(open_state(directory)) as state:
        counts, marks = tallies.counts(state), captures.mark_counts(state)
        forgetting = [one.name for one in forgotten.every(state) if one.done_at is None]
    retain = retain_of(settings.archive.retain)
    is_shared = is_cluster(directory)
    is_countable = not is_shared and retain.kind != "all" and counts.captures <= MOST_CHECKED
    with ExitStack() as opened:
        control = opened.enter_context(control_of(directory, outside.clock))
        watch = opened.enter_context(closing(Watch(directory, settings, outside, control)))
        work, aside = waiting(directory) if is_shared else ([], [])
        return CollectionStatus(
            counts=counts,
            damaged=marks,
            forgetting=forgetting,
            views=list(unusable(directory, outside, 0 if is_shared or is_indexing(control, outside) else counts.pages)),
            droppable=compaction_plan(directory, retain, outside) if is_countable else None,
            processes=running_processes(control.beats(), outside),
            hints=watch.system().hints,
            disks=watch.archive.disks,
            sandbox=asyncio.run(barriers_here(outside)),
            backlog=tuple(work),
            set_aside=tuple(aside),
        )


async def barriers_here(outside: Outside) -> Barriers | None:
    async with Pool(echo, 1, Limits(), outside.processes, outside.clock, silent) as pool:
        try:
            await pool.call(b"")
        except WorkerLost:
            return None
        return pool.barriers
