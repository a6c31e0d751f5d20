"""`/metrics` for Prometheus, in its text format 0.0.4 or as OpenMetrics 1.0."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from gossamer import __version__
from gossamer.base.clock import SECOND
from gossamer.monitor.chronicle import Chronicle, visits_in
from gossamer.monitor.control import ProcessStatus
from gossamer.monitor.nodes import ClusterState
from gossamer.monitor.system import System
from gossamer.web.responses import Show
from gossamer.web.routes import Routes, answers_with
from gossamer.web.site import WebSite

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
Labels = Mapping[str, str]


class Metric(NamedTuple):
    name: str
    """Without the suffix `_total` of a counter's samples."""
    kind: str
    """"counter" or "gauge"."""
    says: str
    samples: Sequence[tuple[Labels, float]]


PROCESS = (
    ("process_cpu_seconds", "counter", "cpu_s", "CPU seconds a process has used."),
    ("process_resident_memory_bytes", "gauge", "rss", "Memory a process holds."),
    ("pages", "counter", "pages", "Pages fetched (crawler) or indexed (indexer) since the process started."),
    ("visits", "counter", "visits", "Fetches finished since the crawler started."),
    ("visit_errors", "counter", "errors", "Fetches failed since the crawler started."),
    ("received_bytes", "counter", "bytes", "Bytes of responses stored since the crawler started."),
    ("workers_lost", "counter", "lost", "Workers replaced since the process started."),
    ("pages_per_second", "gauge", "pages_s", "Pages fetched per second, over the last ten seconds."),
    ("visits_in_flight", "gauge", "in_flight", "Fetches in progress."),
    ("readings_spooled", "gauge", "spooled", "Read pages waiting for the next commit."),
    ("pages_to_read", "gauge", "jobs_waiting", "Pages waiting for a reader."),
    ("words_lag_seconds", "gauge", "words_lag_s", "Index delay: how long the oldest page has waited to be searchable."),
    (
        "facts_lag_seconds",
        "gauge",
        "facts_lag_s",
        "Graph delay: how long the oldest page has waited for its facts to be queryable.",
    ),
)
REVISITS = ("changed", "unmodified", "identical", "passed_over", "vanished", "back")
NODE = (
    ("node_cpu_percent", "cpu", "CPU in use, of all cores together."),
    ("node_cores", "cores", "Cores."),
    ("node_cpu_mhz", "mhz", "Mean speed of the cores."),
    ("node_memory_total_bytes", "memory_total", "Memory of the machine."),
    ("node_memory_free_bytes", "memory_free", "Memory available to programs."),
    ("node_disk_total_bytes", "disk_total", "Size of the disk with the data directory."),
    ("node_disk_free_bytes", "disk_free", "Free on the disk with the data directory."),
)


def router(site: WebSite, show: Show) -> Routes:
    del show
    routes = Routes()

    @routes.get("/metrics", "Metrics for Prometheus", answers_with(str, "text/plain"))
    def metrics(request: Request) -> Response:
        """Prometheus metrics: the figures of every process and machine, and the counters of the collection."""
        is_open = "application/openmetrics-text" in request.headers.get("accept", "")
        metrics = (*metrics_of(site.collection.watch.system()), *freshness_of(site.collection.watch.chronicle()))
        return Response(written(metrics, is_open), headers={"Content-Type": OPEN if is_open else TEXT})

    return routes


def metrics_of(system: System) -> Iterator[Metric]:
    yield Metric("build", "gauge", "The running version.", [({"version": __version__}, 1)])
    every = system.processes
    words = "1 while a process sends heartbeats, 0 when it stopped responding or ended."
    yield Metric("process_up", "gauge", words, [(labels_of(one), float(one.is_alive)) for one in every])
    ages = [(labels_of(one), one.age_s) for one in every]
    yield Metric("process_beat_age_seconds", "gauge", "Seconds since the last heartbeat of a process.", ages)
    starts = [(labels_of(one), round((one.at / SECOND) - one.uptime_s, 1)) for one in every if one.is_alive]
    yield Metric("process_start_time_seconds", "gauge", "Time of the first heartbeat of a process.", starts)
    for name, kind, figure, says in PROCESS:
        yield Metric(name, kind, says, samples_of(every, figure))
    for name, figure, says in NODE:
        yield Metric(name, "gauge", says, samples_of(system.nodes, figure))
    sizes = {name.removesuffix("_bytes"): n for name, n in system.counters.items() if name.endswith("_bytes")}
    counts = {name: number for name, number in system.counters.items() if not name.endswith("_bytes")}
    yield Metric(
        "collection", "gauge", "Size of the collection: URLs, pages, captures, hosts.", labelled_by("of", counts)
    )
    yield Metric("collection_bytes", "gauge", "Its sizes on disk.", labelled_by("of", sizes))
    outcomes = labelled_by("reason", system.outcomes)
    yield Metric("addresses", "gauge", "URLs by the outcome of their last fetch.", outcomes)
    if system.cluster is not None:
        yield from cluster_metrics(system.cluster, system.totals)
    hints = [({"code": hint.code, "severity": hint.severity}, 1) for hint in system.hints]
    yield Metric("hint", "gauge", "1 for each problem or hint.", hints)


def cluster_metrics(state: ClusterState, totals: Mapping[str, float]) -> Iterator[Metric]:
    """Of each node, each service and each view; and over all nodes."""
    nodes, services = state.nodes, state.services
    ups = [({"node": one.name}, float(one.life in ("fresh", "late"))) for one in nodes]
    yield Metric("node_up", "gauge", "1 while a node sends heartbeats, 0 when it is silent or has left.", ups)
    leases = [({"node": one.name}, float(one.leases)) for one in nodes]
    yield Metric("node_leases", "gauge", "Hosts that the crawler of a node has leased.", leases)
    work = [({"node": one.name}, float(one.work)) for one in nodes]
    yield Metric("node_work", "gauge", "Segments that the indexer of a node has leased.", work)
    there = [({"service": one.name}, float(one.is_there)) for one in services]
    yield Metric("service_up", "gauge", "1 while a service answers all nodes.", there)
    took = [({"service": one.name}, one.latency_ms / 1000) for one in services if one.is_there]
    yield Metric("service_latency_seconds", "gauge", "How long its last answer took.", took)
    waiting = [({"view": one.view}, float(one.records)) for one in state.backlog]
    yield Metric("view_backlog_records", "gauge", "Records that wait for a view.", waiting)
    oldest = [({"view": one.view}, one.oldest_s) for one in state.backlog if one.oldest_s is not None]
    yield Metric("view_backlog_seconds", "gauge", "How long the oldest of them has waited.", oldest)
    aside = [({"view": one.view}, float(one.set_aside)) for one in state.backlog]
    yield Metric("view_set_aside", "gauge", "Segments that a view could not take.", aside)
    yield Metric("cluster", "gauge", "Over all nodes, by figure.", labelled_by("of", totals))


def freshness_of(known: Chronicle) -> Iterator[Metric]:
    """From the last sample; none if no page is revisited."""
    if not known.samples:
        return
    last, visits = known.samples[-1], visits_in(known.samples)
    whole, sampled_at = last.all, last.at / SECOND
    ages = {"now": whole.average_age_days, "planned": whole.planned_age_days, "possible": whole.possible_age_days}
    found = {name: getattr(visits, name) for name in REVISITS}
    yield Metric("freshness", "gauge", "Estimated share of copies that match the live pages.", [({}, whole.freshness)])
    yield Metric("age_days", "gauge", "Estimated average age of the copies.", labelled_by("of", ages))
    yield Metric("pages_overdue", "gauge", "Pages whose revisit is overdue.", [({}, last.overdue)])
    yield Metric("freshness_sampled_time_seconds", "gauge", "Time of the freshness estimate.", [({}, sampled_at)])
    yield Metric("revisits", "gauge", "Results of revisits since the first sample.", labelled_by("found", found))


def labelled_by(label: str, values: Mapping[str, float]) -> list[tuple[Labels, float]]:
    return [({label: name}, value) for name, value in values.items()]


def samples_of(every: Sequence[ProcessStatus], figure: str) -> list[tuple[Labels, float]]:
    return [(labels_of(one), one.figures[figure]) for one in every if figure in one.figures and one.is_alive]


def labels_of(one: ProcessStatus) -> Labels:
    return {"node": one.node} if one.pid is None else {"node": one.node, "process": one.name}


def written(metrics: Iterable[Metric], is_open: bool) -> str:
    """The formats differ in the name of a counter's family and in the last line."""
    lines = []
    for metric in metrics:
        sample = f"gossamer_{metric.name}" + "_total" * (metric.kind == "counter")
        family = f"gossamer_{metric.name}" if is_open else sample
        lines += [f"# HELP {family} {escaped(metric.says, is_open)}", f"# TYPE {family} {metric.kind}"]
        lines += [f"{sample}{labelled(labels)} {value:.15g}" for labels, value in metric.samples]
    return "\n".join([*lines, *["# EOF"] * is_open, ""])


def labelled(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{escaped(value, True)}"' for name, value in labels.items()) + "}"


def escaped(text: str, with_quotes: bool) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if with_quotes else text
