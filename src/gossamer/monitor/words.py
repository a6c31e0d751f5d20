"""The system manager in words: for its page, for those who watch live, and for the terminal."""

import msgspec

from gossamer.base.clock import Instant, in_words
from gossamer.monitor.system import Beaten, System, is_alive
from gossamer.monitor.vitals import Figures
from gossamer.values.format import state_in_words

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
    ("known", "URLs seen"),
    ("visited", "URLs fetched"),
    ("queued", "URLs queued"),
    ("pages", "pages"),
    ("captures", "captures stored"),
    ("hosts", "hosts"),
    ("waiting_hosts", "hosts with URLs waiting"),
    ("ready_hosts", "hosts ready now"),
    ("quarantined", "quarantined (possible trap)"),
    ("retired", "retired hosts"),
    ("archive_bytes", "archive"),
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
    """A machine or process in words: what the page shows, and what is sent to those who watch live."""

    key: str
    name: str
    badge: str
    cells: dict[str, str]


def key_of(one: Beaten) -> str:
    return f"{one.node}/{one.name if one.pid is not None else ''}"


def rows_of(system: System) -> tuple[list[SystemRow], list[SystemRow]]:
    nodes = [SystemRow(key_of(one), one.name, BADGES[one.life], cells_of_node(one)) for one in system.nodes]
    processes = [SystemRow(key_of(one), one.name, BADGES[one.life], cells_of_process(one)) for one in system.processes]
    return nodes, processes


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


def cells_of_node(one: Beaten) -> dict[str, str]:
    figures = one.figures
    return {
        "state": life_in_words(one),
        "cpu": figure("cpu", figures.get("cpu", 0)),
        "speed": speed(figures),
        "memory": part(figures.get("memory_total", 0) - figures.get("memory_free", 0), figures.get("memory_total", 0)),
        "memory_free": size(figures.get("memory_free", 0)),
        "disk": part(figures.get("disk_free", 0), figures.get("disk_total", 0)),
        "clock": moment(one.at)[11:],
        "version": one.version,
    }


def whole_cells(system: System) -> dict[str, str]:
    totals = system.totals
    used = totals.get("memory_total", 0) - totals.get("memory_free", 0)
    return {
        "state": f"{totals.get('nodes', 0):.0f} alive, {totals.get('processes', 0):.0f} processes",
        "speed": f"{totals.get('cores', 0):.0f} cores",
        "memory": part(used, totals.get("memory_total", 0)),
        "memory_free": size(totals.get("memory_free", 0)),
        "disk": part(totals.get("disk_free", 0), totals.get("disk_total", 0)),
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


def cells_of_process(one: Beaten) -> dict[str, str]:
    figures = one.figures if is_alive(one) else {}
    return {
        "pid": str(one.pid),
        "state": life_in_words(one),
        "cpu": figure("cpu", figures["cpu"]) if "cpu" in figures else "",
        "memory": size(figures["rss"]) if "rss" in figures else "",
        "work": work_of(figures),
        "uptime": ago(one.uptime_s),
        "clock": moment(one.at)[11:],
        "version": one.version,
    }


def life_in_words(one: Beaten) -> str:
    match one.life:
        case "fresh":
            return one.says or "alive"
        case "late":
            return f"late, {one.age_s:.0f} s"
        case "silent":
            return f"no heartbeat since {moment(one.at)[11:]}"
    return "ended" if one.pid is not None else "idle"


def work_of(figures: Figures) -> str:
    told = [
        f"{figure(name, figures[name])}{words if words.startswith('/') else ' ' + words}"
        for name, words in WORKS
        if name in figures and (figures[name] or name == "pages_s")
    ]
    if figures.get("words_lag_s", 0) >= 1:
        told.append(f"{figures['words_lag_s']:.0f} s behind")
    return ", ".join(told)


def speed(figures: Figures) -> str:
    cores = f"{figures.get('cores', 0):g}"
    return f"{cores} × {figures['mhz'] / 1000:.2f} GHz" if figures.get("mhz") else f"{cores} cores"


def size(octets: float) -> str:
    """Three digits or so, up to terabytes: these are disks and memories."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if octets >= unit:
            return f"{octets / unit:.{0 if octets >= 100 * unit else 1}f} {name}"
    return f"{octets:.0f} B"


def part(some: float, whole: float) -> str:
    return f"{size(some)} of {size(whole)}" if whole else "not known"


def figure(name: str, value: float) -> str:
    """A number as people read it, by what it measures."""
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


def ago(seconds: float) -> str:
    for unit_s, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.0f} s"
