"""The system manager's view: every machine and process with what it said last, how long ago, and what it comes to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.monitor.hints import Hint
from gossamer.monitor.vitals import BEAT_S, NODE, Figures, Vitals

Life = Literal["fresh", "late", "silent", "ended"]
FRESH_S = 2 * BEAT_S
LATE_S = 5 * BEAT_S
OWN_WORDS = ("paused", "waits for disk", "rebuilding")


class Beaten(msgspec.Struct, frozen=True):
    """A process or a machine, as it stands."""

    name: str
    node: str
    pid: int | None
    """None: a machine."""
    life: Life
    """fresh: heard of within two beats; late: within five; silent: not since `at`; ended: it said so."""
    says: str
    """A word of its own, such as "paused"; or nothing."""
    at: Instant
    """When it was heard of last."""
    age_s: float
    uptime_s: float
    version: str
    figures: Figures


class System(msgspec.Struct, frozen=True):
    """Everything the system manager shows."""

    at: Instant
    state: str
    """Of the crawl: running, paused, waits for disk, interrupted or at rest."""
    nodes: tuple[Beaten, ...] = ()
    processes: tuple[Beaten, ...] = ()
    totals: Figures = {}
    """Over all that live."""
    averages: Figures = {}
    """For each machine that lives."""
    counters: dict[str, int] = {}
    """Of the collection, shared by all: addresses known, queued, captures, sizes on disk in bytes, ..."""
    outcomes: dict[str, int] = {}
    """How visits ended: addresses by reason code."""
    hints: tuple[Hint, ...] = ()


def beaten(one: Vitals, now: Instant) -> Beaten:
    age_s = max(0.0, (now - one.at) / SECOND)
    life = life_of(one.state, age_s)
    says = one.state if one.state in OWN_WORDS and life in ("fresh", "late") else ""
    until_at = now if life in ("fresh", "late") else one.at
    return Beaten(
        name=one.process or one.node,
        node=one.node,
        pid=one.pid if one.process != NODE else None,
        life=life,
        says=says,
        at=one.at,
        age_s=round(age_s, 1),
        uptime_s=round(max(0.0, (until_at - one.since_at) / SECOND), 1),
        version=one.version,
        figures=one.figures,
    )


def life_of(state: str, age_s: float) -> Life:
    if state == "ended":
        return "ended"
    return "fresh" if age_s < FRESH_S else "late" if age_s < LATE_S else "silent"


def is_alive(one: Beaten) -> bool:
    return one.life in ("fresh", "late")


def listed(vitals: Iterable[Vitals], now: Instant) -> tuple[tuple[Beaten, ...], tuple[Beaten, ...]]:
    """Machines, and processes: those of consequence first. A worker that ended leaves nothing to look at."""
    every = [beaten(one, now) for one in vitals]
    lost = {one.node for one in every if one.pid is not None and one.life == "silent"}
    nodes = tuple(at_rest(one) if one.node not in lost else one for one in every if one.pid is None)
    workers = ("reader ", "query worker ")
    processes = [
        one for one in every if one.pid is not None and not (one.life == "ended" and one.name.startswith(workers))
    ]
    return nodes, tuple(sorted(processes, key=lambda one: (one.node, *place_of(one.name))))


def at_rest(node: Beaten) -> Beaten:
    """A machine on which everything ended as it should is not silent: nobody is left to speak."""
    return msgspec.structs.replace(node, life="ended") if node.life == "silent" else node


def place_of(name: str) -> tuple[int, int]:
    kinds = ("crawler", "indexer", "facts keeper", "reader", "web", "query worker")
    kind, _, number = name.rpartition(" ")
    known = name if name in kinds else kind
    return (kinds.index(known) if known in kinds else len(kinds), int(number) if number.isdecimal() else 0)


SUMMED = ("pages_s", "bytes_s", "errors_min", "queued", "in_flight", "jobs_waiting", "spooled", "streams")
OF_NODES = ("cpu", "mhz", "cores", "memory_total", "memory_free", "disk_total", "disk_free")


def totals_of(nodes: Sequence[Beaten], processes: Sequence[Beaten]) -> Figures:
    """Of those that live. Two names of one process (as in the demo) count its CPU and memory once. Pages are the
    crawlers' alone: the indexer's are the same again."""
    living = [one for one in processes if is_alive(one)]
    once = {(one.node, one.pid): one.figures for one in living}.values()
    crawlers = [one.figures for one in living if one.name == "crawler"]
    totals = {name: total(crawlers, name) for name in ("pages_s", "bytes_s", "errors_min")}
    totals |= {name: total([one.figures for one in living], name) for name in SUMMED if name not in totals}
    totals |= {"cpu": round(total(once, "cpu"), 1), "rss": total(once, "rss")}
    totals |= {name: most((one.figures for one in living), name) for name in ("words_lag_s", "facts_lag_s")}
    machines = [one.figures for one in nodes if is_alive(one)]
    totals |= {name: total(machines, name) for name in OF_NODES if name not in ("cpu", "mhz")}
    return totals | {"nodes": len(machines), "processes": len(once)}


def averages_of(nodes: Sequence[Beaten]) -> Figures:
    machines = [one.figures for one in nodes if is_alive(one)]
    return {name: round(total(machines, name) / len(machines), 1) for name in OF_NODES} if machines else {}


def total(figures: Iterable[Mapping[str, float]], name: str) -> float:
    return sum(one.get(name, 0.0) for one in figures)


def most(figures: Iterable[Mapping[str, float]], name: str) -> float:
    return max((one.get(name, 0.0) for one in figures), default=0.0)


def state_of(processes: Sequence[Beaten]) -> str:
    """Of the crawl, in a word or two."""
    for one in processes:
        if one.name == "crawler" and one.life != "ended":
            return (one.says or "running") if is_alive(one) else "interrupted"
    return "at rest"
