"""Heartbeats and commands, through which the processes of a collection communicate.

What they are, in either form.

`monitor.choice` picks the form: the file `control.db` of a directory, or the database of a cluster.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Outside

Figures = dict[str, float]
"""By name; `FIGURES` says what each means. Figures that a process does not have are left out."""

BEAT_S = 1.0
HOUR_S = 3600
NODE = ""
"""The process name under which a machine itself is recorded."""

FIGURES: Mapping[str, str] = {
    "cpu": "percent of one core that a process uses; for a machine, of all its cores together",
    "cpu_s": "seconds of CPU a process has used since it started",
    "rss": "bytes of memory a process holds",
    "cores": "cores of the machine",
    "mhz": "their current speed in MHz",
    "memory_total": "bytes of memory of the machine",
    "memory_free": "of them, what programs could still get",
    "disk_total": "bytes of the disk with the data directory",
    "disk_free": "of them, free",
    "barriers_missing": "which barriers the workers of a process lack, one bit each (workers/protocol.py); 0: none",
    "pages": "pages fetched (crawler) or indexed (indexer) since the process started",
    "pages_s": "the same per second, over the last ten seconds",
    "bytes": "bytes of responses stored since the crawler started",
    "bytes_s": "the same per second, over the last ten seconds",
    "visits": "fetches ended since the crawler started",
    "errors": "fetches that failed since the crawler started",
    "errors_min": "fetches that failed in the last minute",
    "queued": "URLs in the queue",
    "in_flight": "fetches in progress",
    "rests_s": "seconds until the next host may be fetched from, when none may be now",
    "words_lag_s": "seconds that the oldest fetched page has been waiting for the word index",
    "facts_lag_s": "seconds that the oldest fetched page has been waiting for the graph",
    "spooled": "readings waiting for the next commit",
    "jobs_waiting": "pages waiting for a reader",
    "lost": "workers that had to be replaced since the process started",
    "streams": "browsers with a live view",
}


class Vitals(msgspec.Struct, frozen=True):
    """One heartbeat's figures."""

    node: str
    process: str
    """"crawler", "indexer", "graph process 1", "reader 1", "web", "query worker 2"; NODE: the machine."""
    pid: int
    at: Instant
    since_at: Instant
    """When it was first recorded under this pid."""
    figures: Figures
    state: str = ""
    """"", or a word: "paused", "waiting-for-disk-space", "suspended", "rebuilding", "ended"."""
    version: str = ""
    host: str = ""
    """The machine of a node, where several nodes may be on one machine; empty: the node is the machine."""


Life = Literal["fresh", "late", "silent", "ended"]


class ProcessStatus(msgspec.Struct, frozen=True):
    """A process or a machine, judged by its last heartbeat."""

    name: str
    node: str
    pid: int | None
    """None: a machine."""
    life: Life
    """fresh: heard from within two beats; late: within five; silent: not since `at`; ended: in order."""
    says: str
    """A state of its own, such as "paused"; may be empty."""
    at: Instant
    """Its last heartbeat."""
    age_s: float
    uptime_s: float
    version: str
    figures: Figures
    host: str = ""
    """The machine of a node of a cluster."""

    @property
    def is_alive(self) -> bool:
        return self.life in ("fresh", "late")


class Sample(msgspec.Struct, frozen=True):
    """One second of the past hour."""

    node: str
    process: str
    at: Instant
    figures: Figures


RETIRE = "retire"
REINSTATE = "reinstate"
RELEASE = "release"
SEED = "seed"
REQUEUE = "requeue"
ADDRESSEE = {
    "checkpoint": "indexer",
    **dict.fromkeys(("pause", "resume", "stop", RETIRE, REINSTATE, RELEASE, SEED, REQUEUE), "crawler"),
}
"""The commands, and the process each is meant for."""
PAUSES = {"pause": True, "stop": True, "resume": False}
"""On a cluster these set a state that all crawlers follow."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A process's last heartbeat; `facts` are any values of JSON."""

    name: str
    pid: int
    at: Instant
    facts: dict[str, object]
    node: str = ""
    """On a cluster: the node it runs on."""
    is_fresh: bool | None = None
    """On a cluster: whether it is recent by the clock of the database. None: the process is on this machine."""


@dataclass(frozen=True, slots=True)
class Command:
    id: int
    verb: str
    args: dict[str, object]
    asked_at: Instant


class ClusterMarks(msgspec.Struct, frozen=True):
    """What every process of a cluster follows. A counter grows whenever what it counts is changed."""

    is_paused: bool = False
    seeds: int = 0
    options: int = 0
    documents: int = 0


class Control(Protocol):
    """`with control_of(directory, clock) as control:` in any process, on any thread. A call is one short transaction.

    Real forms: `SqliteControl` and `ClusterControl`. A heartbeat that cannot be written is dropped, never raised.
    """

    @property
    def is_shared(self) -> bool:
        """Whether it is that of a cluster: several crawlers and indexers, each on a node."""

    @property
    def is_unusable(self) -> bool:
        """The file is damaged or may not be read, so no process is seen."""

    @property
    def node(self) -> str:
        """The name under which this process reports; empty: that of the machine."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def beat(self, name: str, pid: int, facts: Mapping[str, object] | None, vitals: Sequence[Vitals] = ()) -> bool:
        """Record a heartbeat with `facts` for other processes, if there are any, and figures, as `note` does."""

    def note(self, vitals: Sequence[Vitals]) -> bool:
        """Record figures: the last ones of each process, and one place in the ring of the past hour.

        False: a full disk, a busy database or one that is away cost this heartbeat, and nothing else.
        """

    def end_workers(self, of: str) -> None:
        """For a process that starts or ends: its workers, of this kind, have ended too. Also deletes what has not been
        renewed for an hour."""

    def vitals(self) -> list[Vitals]:
        """The last figures of every process and machine, by name."""

    def history(self, since_at: Instant) -> list[Sample]:
        """Second by second, oldest first; at most an hour."""

    def beats(self) -> list[Beat]: ...

    def ask(self, verb: str, **args: object) -> int:
        """Leave a command for the process it is meant for, unless the last one waiting is the same. Returns its id.

        On a cluster `pause` and `resume` are a state that all crawlers follow, also those that start later, and `stop`
        pauses; every other command is carried out once, by one crawler.
        """

    def pending(self, addressee: str) -> list[Command]:
        """The commands waiting for "crawler" or "indexer", oldest first. On a cluster they are the caller's for half a
        minute: no other process gets them meanwhile."""

    def done(self, command_id: int) -> None:
        """Mark it as done. If that cannot be written, it is remembered here, and written with the next that can be."""

    def is_done(self, command_id: int) -> bool:
        """True also for one so old that it was deleted."""

    def discard_pending(self, addressee: str) -> None:
        """For a process that starts: commands for its predecessor do not concern it. On a cluster they still do."""

    def clear(self, addressee: str) -> None:
        """Delete all commands for it, done or not, with the names in them."""

    def marks(self) -> ClusterMarks | None:
        """None: not on a cluster. While the database is away: as last seen."""


FIGURES_DECODER: msgspec.json.Decoder[Figures] = msgspec.json.Decoder(Figures)


def arguments_of(text: str) -> dict[str, object]:
    """The arguments of a command; none if they are not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def is_running(beat: Beat, outside: Outside) -> bool:
    """Whether the process of this heartbeat is alive: by its process id on this machine, by its age on a cluster."""
    if beat.facts.get("state") == "ended":
        return False
    return outside.processes.is_alive(beat.pid) if beat.is_fresh is None else beat.is_fresh


def running_processes(beats: Sequence[Beat], outside: Outside) -> list[dict[str, object]]:
    """The processes that are alive, with the facts of their last heartbeats."""
    now = outside.clock.now()
    return [
        {"name": beat.name, "pid": beat.pid, "silent_s": round((now - beat.at) / SECOND, 1), **beat.facts}
        | ({"node": beat.node} if beat.node else {})
        for beat in beats
        if is_running(beat, outside)
    ]
