"""A cluster in words: its nodes, its services, what waits, and what has happened."""

from collections.abc import Sequence

import msgspec

from gossamer.monitor.control import Figures, ProcessStatus
from gossamer.monitor.nodes import DRAINING, ClusterEvent, ClusterState, NodeStatus, ServiceHealth, ViewQueue
from gossamer.monitor.system import BADGES, SystemRow, figure, moment, part, size, total
from gossamer.values.format import counted, duration

OF_MACHINE = ("cores", "mhz", "memory_total", "memory_free", "disk_total", "disk_free")
SERVICES = {"database": "PostgreSQL", "archive": "archive storage", "words": "OpenSearch", "facts": "SPARQL server"}
BROKEN = frozenset({"node.silent", "role.died", "service.away", "work.set-aside", "database.suspended", "service.lost"})
"""Events that are shown as warnings."""


def with_figures(
    nodes: Sequence[NodeStatus], machines: Sequence[ProcessStatus], processes: Sequence[ProcessStatus]
) -> tuple[NodeStatus, ...]:
    """Each node with what its processes and its machine reported last."""
    machine_of = {one.node: one.figures for one in machines}
    found = []
    for node in nodes:
        mine = [one for one in processes if one.node == node.name and one.is_alive]
        once = [one.figures for one in {one.pid: one for one in mine}.values()]
        crawlers = [one.figures for one in mine if one.name == "crawler"]
        figures: Figures = {"pages_s": total(crawlers, "pages_s"), "in_flight": total(crawlers, "in_flight")}
        figures |= {"cpu": round(total(once, "cpu"), 1), "rss": total(once, "rss")}
        of_machine = machine_of.get(node.name, {})
        figures |= {name: of_machine[name] for name in OF_MACHINE if name in of_machine}
        if "cpu" in of_machine:
            figures["cpu_machine"] = of_machine["cpu"]
        names = tuple(one.name for one in mine)
        found.append(msgspec.structs.replace(node, figures=figures, processes=names))
    return tuple(found)


def state_of_node(one: NodeStatus) -> str:
    match one.life:
        case "ended":
            return f"left {moment(one.at)[11:]}"
        case "silent":
            return f"no heartbeat since {moment(one.at)[11:]}"
        case "late":
            return f"late, {one.age_s:.0f} s"
    return "draining" if one.state == DRAINING else "waits" if one.says else "alive"


def badge_of(one: NodeStatus) -> str:
    return "warn" if one.life == "fresh" and (one.says or one.state == DRAINING) else BADGES[one.life]


def node_cells(one: NodeStatus) -> dict[str, str]:
    figures = one.figures if one.life in ("fresh", "late") else {}
    used = figures.get("memory_total", 0) - figures.get("memory_free", 0)
    return {
        "state": state_of_node(one),
        "says": one.says if one.life != "ended" else "",
        "roles": ", ".join(one.roles),
        "labels": ", ".join(one.labels),
        "host": one.host,
        "processes": ", ".join(name for name in one.processes if not name.startswith(("reader ", "query worker "))),
        "pages_s": figure("pages_s", figures["pages_s"]) if "pages_s" in figures else "",
        "leases": f"{one.leases:,}" + (f", {counted(one.work, 'segment')}" if one.work else ""),
        "cpu": figure("cpu", figures["cpu"]) if "cpu" in figures else "",
        "cpu_machine": figure("cpu", figures["cpu_machine"]) if "cpu_machine" in figures else "",
        "rss": size(figures["rss"]) if "rss" in figures else "",
        "memory": part(used, figures["memory_total"]) if figures.get("memory_total") else "",
        "disk": part(figures["disk_free"], figures["disk_total"]) if figures.get("disk_total") else "",
        "clock": moment(one.at)[11:],
        "version": one.version,
    }


def node_rows(state: ClusterState) -> list[SystemRow]:
    return [SystemRow(f"node/{one.name}", one.name, badge_of(one), node_cells(one)) for one in state.nodes]


def service_rows(state: ClusterState) -> list[SystemRow]:
    return [
        SystemRow(
            f"service/{one.name}",
            SERVICES.get(one.name, one.name),
            "good" if one.is_there else "bad",
            {"state": "answers" if one.is_there else "away", "says": service_in_words(one)},
        )
        for one in state.services
    ]


def service_in_words(one: ServiceHealth) -> str:
    """Every wait is visible, and since when."""
    if one.is_there:
        return f"{one.says}; {one.latency_ms:.0f} ms"
    since = f" since {moment(one.away_since)}" if one.away_since is not None else ""
    nodes = f" for {', '.join(one.away_for)}" if one.away_for else ""
    return f"suspended{nodes}: no answer{since}, trying again ({one.says})"


def queue_in_words(one: ViewQueue) -> str:
    waiting = f"{counted(one.records, 'record')} waiting"
    oldest = f", the oldest for {duration(one.oldest_s)}" if one.oldest_s is not None and one.records else ""
    aside = f"; {counted(one.set_aside, 'segment')} set aside" if one.set_aside else ""
    return waiting + oldest + aside


def event_in_words(one: ClusterEvent) -> str:
    return f"{moment(one.at)}  {one.node or 'cluster'}: {one.says}"


def cluster_cells(state: ClusterState) -> dict[str, str]:
    """Every text of the cluster on the page that changes, by its key."""
    rows = (*node_rows(state), *service_rows(state))
    cells = {f"{row.key}/{name}": text for row in rows for name, text in row.cells.items()}
    return cells | {f"queue/{one.view}": queue_in_words(one) for one in state.backlog}


def cluster_badges(state: ClusterState) -> dict[str, str]:
    return {row.key: row.badge for row in (*node_rows(state), *service_rows(state))}


def cluster_shape(state: ClusterState) -> list[str]:
    """What the page must be made again for: other rows, and another latest event."""
    latest = [str(state.events[-1].id)] if state.events else []
    rows = [f"{one.name}:{one.life == 'ended'}:{one.life == 'silent'}" for one in state.nodes]
    return [*rows, *(one.name for one in state.services), *(one.view for one in state.backlog), *latest]


def is_well(state: ClusterState) -> bool:
    """Whether every service answers, and no node is silent."""
    return all(one.is_there for one in state.services) and all(one.life != "silent" for one in state.nodes)
