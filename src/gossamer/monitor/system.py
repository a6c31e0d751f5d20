"""All machines and processes of a collection, and their totals.

Also the texts and curves of the nodes page.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.monitor.control import BEAT_S, FIGURES, HOUR_S, NODE, Figures, Life, ProcessStatus, Sample, Vitals
from gossamer.monitor.hints import Hint
from gossamer.monitor.nodes import ClusterState
from gossamer.values.format import csv_line, duration, state_in_words

FRESH_S = 2 * BEAT_S
LATE_S = 5 * BEAT_S
OWN_STATES = ("paused", "waiting-for-disk-space", "suspended", "rebuilding")
WAITS_FOR = "views."
"""How a state begins that names a service which does not answer, by its setting."""


class System(msgspec.Struct, frozen=True):
    """What `gossamer top` and the nodes page show."""

    at: Instant
    state: str
    """Of the crawl: "running", "paused", "waiting-for-disk-space", "suspended", "interrupted" or "idle"."""
    nodes: tuple[ProcessStatus, ...] = ()
    processes: tuple[ProcessStatus, ...] = ()
    totals: Figures = {}
    """Over all that are alive."""
    averages: Figures = {}
    """For each machine that is alive."""
    counters: dict[str, int] = {}
    """Of the collection: known URLs, URLs waiting, captures, sizes on disk in bytes, ..."""
    outcomes: dict[str, int] = {}
    """How fetches ended: URLs by reason code."""
    hints: tuple[Hint, ...] = ()
    cluster: ClusterState | None = None
    """Of all nodes together; null: not a cluster."""


def status_of(one: Vitals, now: Instant) -> ProcessStatus:
    age_s = max(0.0, (now - one.at) / SECOND)
    life = life_of(one.state, age_s)
    is_alive = life in ("fresh", "late")
    return ProcessStatus(
        name=one.process or one.node,
        node=one.node,
        pid=one.pid if one.process != NODE else None,
        life=life,
        says=one.state if is_alive and (one.state in OWN_STATES or one.state.startswith(WAITS_FOR)) else "",
        at=one.at,
        age_s=round(age_s, 1),
        uptime_s=round(max(0.0, ((now if is_alive else one.at) - one.since_at) / SECOND), 1),
        version=one.version,
        figures=one.figures,
        host=one.host,
    )


def life_of(state: str, age_s: float) -> Life:
    if state == "ended":
        return "ended"
    return "fresh" if age_s < FRESH_S else "late" if age_s < LATE_S else "silent"


def listed(vitals: Iterable[Vitals], now: Instant) -> tuple[tuple[ProcessStatus, ...], tuple[ProcessStatus, ...]]:
    """Machines, and processes with the most important first. Workers that ended are left out.

    A machine on which every process ended in order is not silent: no process is left to report it."""
    every = [status_of(one, now) for one in vitals]
    lost = {one.node for one in every if one.pid is not None and one.life == "silent"}
    nodes = tuple(
        msgspec.structs.replace(one, life="ended") if one.life == "silent" and one.node not in lost else one
        for one in every
        if one.pid is None
    )
    processes = [
        one for one in every if one.pid is not None and not (one.life == "ended" and one.name.startswith(WORKERS))
    ]
    return nodes, tuple(sorted(processes, key=lambda one: (one.node, *rank_of(one.name))))


KINDS = ("node", "crawler", "indexer", "graph process", "reader", "web", "query worker")
WORKERS = ("reader ", "query worker ")


def rank_of(name: str) -> tuple[int, int]:
    kind, _, number = name.rpartition(" ")
    known = name if name in KINDS else kind
    return (KINDS.index(known) if known in KINDS else len(KINDS), int(number) if number.isdecimal() else 0)


CRAWLED = ("pages_s", "bytes_s", "errors_min")
SUMMED = ("queued", "in_flight", "jobs_waiting", "spooled", "streams")
OF_NODES = ("cpu", "mhz", "cores", "memory_total", "memory_free", "disk_total", "disk_free")


def totals_of(nodes: Sequence[ProcessStatus], processes: Sequence[ProcessStatus]) -> Figures:
    """Of those that are alive. If a process has two names (as in the demo), its CPU and memory count once. Only the
    crawlers' pages count: the indexer's are the same ones."""
    living = [one for one in processes if one.is_alive]
    once = {(one.node, one.pid): one.figures for one in living}.values()
    crawlers = [one.figures for one in living if one.name == "crawler"]
    totals = {name: total(crawlers, name) for name in CRAWLED}
    totals |= {name: total([one.figures for one in living], name) for name in SUMMED}
    totals |= {"cpu": round(total(once, "cpu"), 1), "rss": total(once, "rss")}
    totals |= {name: most((one.figures for one in living), name) for name in ("words_lag_s", "facts_lag_s")}
    machines = machines_of(nodes)
    totals |= {name: total(machines, name) for name in OF_NODES if name not in ("cpu", "mhz")}
    return totals | {"nodes": len(machines), "processes": len(once)}


def averages_of(nodes: Sequence[ProcessStatus]) -> Figures:
    machines = machines_of(nodes)
    return {name: round(total(machines, name) / len(machines), 1) for name in OF_NODES} if machines else {}


def machines_of(nodes: Sequence[ProcessStatus]) -> list[Figures]:
    """Each machine that is alive once, also if several nodes of a cluster are on it."""
    return list({one.host or one.node: one.figures for one in nodes if one.is_alive}.values())


def total(figures: Iterable[Mapping[str, float]], name: str) -> float:
    return sum(one.get(name, 0.0) for one in figures)


def most(figures: Iterable[Mapping[str, float]], name: str) -> float:
    return max((one.get(name, 0.0) for one in figures), default=0.0)


def state_of(processes: Sequence[ProcessStatus]) -> str:
    """Of the crawl; on a cluster it runs if any crawler does."""
    crawlers = [one for one in processes if one.name == "crawler" and one.life != "ended"]
    states = [one.says or "running" for one in crawlers if one.is_alive]
    if states:
        return "running" if "running" in states else states[0]
    return "interrupted" if crawlers else "idle"


BADGES = {"fresh": "good", "late": "warn", "silent": "bad", "ended": "idle"}
CARDS = (
    ("pages_s", "pages per second"),
    ("bytes_s", "per second"),
    ("queued", "URLs waiting"),
    ("in_flight", "fetches in progress"),
    ("errors_min", "failures per minute"),
    ("words_lag_s", "index delay"),
    ("facts_lag_s", "graph delay"),
    ("cpu", "CPU of all processes"),
)
COUNTERS = (
    ("known", "known URLs"),
    ("visited", "URLs fetched"),
    ("queued", "URLs waiting"),
    ("pages", "pages"),
    ("captures", "captures stored"),
    ("hosts", "hosts"),
    ("waiting_hosts", "hosts with URLs waiting"),
    ("ready_hosts", "hosts ready now"),
    ("quarantined", "quarantined (possible trap)"),
    ("retired", "retired hosts"),
    ("archive_bytes", "archive"),
    ("archive_free_bytes", "free space for the archive"),
    ("index_bytes", "search index"),
    ("graph_bytes", "fact store"),
    ("links_bytes", "links"),
    ("state_bytes", "crawl state"),
    ("spool_bytes", "spool"),
)
WORKS = (
    ("pages_s", "pages/s"),
    ("bytes_s", "/s"),
    ("queued", "waiting"),
    ("in_flight", "in progress"),
    ("errors_min", "failures/min"),
    ("jobs_waiting", "pages to read"),
    ("spooled", "read pages to commit"),
    ("streams", "live viewers"),
    ("lost", "workers lost"),
)


class SystemRow(msgspec.Struct, frozen=True):
    """The texts of a machine or process, on the page and in its live updates."""

    key: str
    name: str
    badge: str
    cells: dict[str, str]


def key_of(one: ProcessStatus) -> str:
    return f"{one.node}/{one.name if one.pid is not None else ''}"


def rows_of(system: System) -> tuple[list[SystemRow], list[SystemRow]]:
    def row(one: ProcessStatus, cells: dict[str, str]) -> SystemRow:
        return SystemRow(key_of(one), one.name, BADGES[one.life], cells)

    processes = [row(one, cells_of_process(one)) for one in system.processes]
    return [row(one, cells_of_node(one)) for one in system.nodes], processes


def cells_of(system: System) -> dict[str, str]:
    """Every text on the page that changes, by its key."""
    cells = {f"total/{name}": figure(name, system.totals.get(name, 0)) for name, _ in CARDS}
    cells |= {f"all/{name}": text for name, text in whole_cells(system).items()}
    cells |= {f"mean/{name}": text for name, text in mean_cells(system).items()}
    cells |= {f"counter/{name}": figure(name, system.counters[name]) for name, _ in COUNTERS if name in system.counters}
    cells |= {f"hint/{hint.code}": hint.words for hint in system.hints}
    for row in (row for rows in rows_of(system) for row in rows):
        cells |= {f"{row.key}/{name}": text for name, text in row.cells.items()}
    return cells | {"state": state_in_words(system.state), "moment": moment(system.at)}


def cells_of_node(one: ProcessStatus) -> dict[str, str]:
    figures = one.figures
    return {
        "state": life_in_words(one),
        "cpu": figure("cpu", figures.get("cpu", 0)),
        "speed": speed(figures),
        **storage_cells(figures),
        "clock": moment(one.at)[11:],
        "version": one.version,
    }


def whole_cells(system: System) -> dict[str, str]:
    totals = system.totals
    return {
        "state": f"{totals.get('nodes', 0):.0f} alive, {totals.get('processes', 0):.0f} processes",
        "speed": f"{totals.get('cores', 0):.0f} cores",
        **storage_cells(totals),
    }


def storage_cells(figures: Figures) -> dict[str, str]:
    total, free = figures.get("memory_total", 0), figures.get("memory_free", 0)
    return {
        "memory": part(total - free, total),
        "memory_free": size(free),
        "disk": part(figures.get("disk_free", 0), figures.get("disk_total", 0)),
    }


def mean_cells(system: System) -> dict[str, str]:
    means = system.averages
    if not means:
        return {}
    return {
        "cpu": figure("cpu", means["cpu"]),
        "speed": speed(means),
        "memory": size(means["memory_total"] - means["memory_free"]),
        "memory_free": size(means["memory_free"]),
        "disk": size(means["disk_free"]),
    }


def cells_of_process(one: ProcessStatus) -> dict[str, str]:
    figures = one.figures if one.is_alive else {}
    return {
        "node": one.node,
        "pid": str(one.pid),
        "state": life_in_words(one),
        "cpu": figure("cpu", figures["cpu"]) if "cpu" in figures else "",
        "memory": size(figures["rss"]) if "rss" in figures else "",
        "work": work_of(figures),
        "uptime": duration(one.uptime_s),
        "clock": moment(one.at)[11:],
        "version": one.version,
    }


def life_in_words(one: ProcessStatus) -> str:
    match one.life:
        case "fresh":
            return one.says or "alive"
        case "late":
            return f"late, {one.age_s:.0f} s"
        case "silent":
            return f"no heartbeat since {moment(one.at)[11:]}"
    return "ended" if one.pid is not None else "idle"


def work_of(figures: Figures) -> str:
    parts = [
        f"{figure(name, figures[name])}{words if words.startswith('/') else ' ' + words}"
        for name, words in WORKS
        if name in figures and (figures[name] or name == "pages_s")
    ]
    if figures.get("words_lag_s", 0) >= 1:
        parts.append(f"index delay {figures['words_lag_s']:.0f} s")
    return ", ".join(parts)


def speed(figures: Figures) -> str:
    cores = f"{figures.get('cores', 0):g}"
    return f"{cores} × {figures['mhz'] / 1000:.2f} GHz" if figures.get("mhz") else f"{cores} cores"


def size(octets: float) -> str:
    """About three digits, up to terabytes, as for disks and memory."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if octets >= unit:
            return f"{octets / unit:.{0 if octets >= 100 * unit else 1}f} {name}"
    return f"{octets:.0f} B"


def part(some: float, whole: float) -> str:
    return f"{size(some)} of {size(whole)}" if whole else "not known"


def figure(name: str, value: float) -> str:
    """A number for people, in the unit of what it measures."""
    if name.endswith("_lag_s"):
        return f"{value:.1f} s"
    if name in ("bytes_s", "rss", "memory_used", "disk_free") or name.endswith("_bytes"):
        return size(value)
    if name == "cpu":
        return f"{value:.0f} %"
    return f"{value:,.1f}" if name == "pages_s" else f"{value:,.0f}"


def moment(at: Instant) -> str:
    """To the second."""
    return f"{in_words(at)[:19].replace('T', ' ')} UTC"


MOST_POINTS = 720
SERIES = (
    "pages_s", "bytes_s", "errors_min", "queued", "in_flight", "words_lag_s", "facts_lag_s", "cpu", "rss",
    "memory_used", "disk_free",
)  # fmt: skip
SUMS = ("pages_s", "bytes_s", "errors_min", "queued", "in_flight", "memory_used", "disk_free", "rss")
"""Added up over processes or machines; of the others the largest counts."""


class HourHistory(msgspec.Struct, frozen=True):
    """Columns of equal length. A figure that no process reported in a step is null: nothing ran then."""

    step_s: int
    at: tuple[Instant, ...]
    """When each step begins."""
    series: dict[str, tuple[float | None, ...]]


def step_for(minutes: int) -> int:
    """Seconds per point, so that there are at most MOST_POINTS."""
    return max(1, -(-minutes * 60 // MOST_POINTS))


def history_of(samples: Sequence[Sample], since_at: Instant, until_at: Instant, step_s: int) -> HourHistory:
    """For each step the mean of the totals of its seconds. REQUIRES: step_s >= 1."""
    first, last = since_at // (step_s * SECOND), until_at // (step_s * SECOND)
    steps = list(range(first, last + 1))
    summed: dict[int, dict[str, list[float]]] = {}
    for second, figures in by_second(samples):
        into = summed.setdefault(second // step_s, {})
        for name, value in figures.items():
            into.setdefault(name, []).append(value)
    series = {name: tuple(mean(summed.get(step, {}).get(name)) for step in steps) for name in SERIES}
    return HourHistory(step_s, tuple(step * step_s * SECOND for step in steps), series)


def by_second(samples: Sequence[Sample]) -> Iterator[tuple[int, Figures]]:
    """The totals of each second. REQUIRES: oldest first."""
    for second, same in groupby(samples, key=lambda sample: sample.at // SECOND):
        figures: Figures = {}
        for sample in same:
            for name, value in shown_of(sample).items():
                known = figures.get(name)
                figures[name] = value if known is None else known + value if name in SUMS else max(known, value)
        if figures:
            yield second, figures


def shown_of(sample: Sample) -> Figures:
    """What a process or machine adds to the totals: pages are the crawler's, the CPU is the machine's."""
    figures = sample.figures
    if sample.process == NODE:
        used = figures.get("memory_total", 0) - figures.get("memory_free", 0)
        return {"cpu": figures.get("cpu", 0), "memory_used": used, "disk_free": figures.get("disk_free", 0)}
    wanted = SERIES if sample.process == "crawler" else ("rss",)
    return {name: figures[name] for name in wanted if name in figures and name != "cpu"}


def mean(values: Sequence[float] | None) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def as_csv(samples: Sequence[Sample]) -> Iterator[bytes]:
    """Every second of every process and machine, after a header line."""
    yield csv_line(["at", "node", "process", *FIGURES])
    for sample in samples:
        figures = ["" if (value := sample.figures.get(name)) is None else f"{value:g}" for name in FIGURES]
        yield csv_line([in_words(sample.at), sample.node, sample.process or "(machine)", *figures])


def since(now: Instant, minutes: int) -> Instant:
    return now - min(minutes * 60, HOUR_S) * SECOND
