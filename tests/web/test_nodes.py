"""The system manager with a real collection: as a page, as JSON and CSV, live, and for Prometheus."""

import csv
import http.client
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import msgspec
from selectolax.lexbor import LexborHTMLParser
from tests.json_answers import decoded
from tests.web.exposition import families
from tests.web.site import LONG_S, Site, serving, trouble_in

from gossamer.base.clock import SECOND, SystemClock
from gossamer.monitor.control import FIGURES, NODE, ProcessStatus, Vitals
from gossamer.monitor.hints import Hint
from gossamer.monitor.sqlite_control import SqliteControl
from gossamer.monitor.system import HourHistory, System
from gossamer.store.directory import Directory
from gossamer.web.nodes.metrics import metrics_of, written
from gossamer.web.nodes.routes import MOST_STREAMS, NodesEvent, live_of

ODD = "<img src=x onerror=alert(1)>\"\\\n'`"


@contextmanager
def watching(site: Site) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=LONG_S)
    try:
        connection.request("GET", "/nodes/live", headers={"Accept": "text/event-stream"})
        yield connection.getresponse()
    finally:
        connection.close()


def events(stream: http.client.HTTPResponse, number: int) -> list[NodesEvent]:
    received: list[NodesEvent] = []
    while len(received) < number:
        line = stream.readline()
        assert line, "the stream ended"
        if line.startswith(b"data: "):
            received.append(decoded(line[6:], NodesEvent))
    return received


def streams(site: Site) -> float:
    return float(site.ask("/nodes.json").json["totals"]["streams"])


def until(is_true: Callable[[], bool]) -> None:
    clock, end = SystemClock(), SystemClock().elapsed_s() + LONG_S
    while not is_true():
        assert clock.elapsed_s() < end, "it never happened"
        clock.pause(0.1)


def processes_of(page: LexborHTMLParser) -> dict[str, str]:
    return {row.css_first("th").text(): row.text() for row in page.css("#processes table")[0].css("tbody tr")}


def life_of_web(site: Site) -> str:
    processes = decoded(site.ask("/nodes.json").body, System).processes
    return next(one.life for one in processes if one.name == "web")


def test_M_A10_the_system_manager_lists_machines_and_processes_with_totals_and_averages(site: Site) -> None:
    until(lambda: site.ask("/nodes.json").json["totals"]["processes"] >= 3)
    until(lambda: "alive" in processes_of(site.ask("/nodes").page)["web"])
    page = site.ask("/nodes").page
    assert page.css_first("h1").text() == "Nodes" and trouble_in(page) == []
    machines = page.css("#nodes table")[0]
    assert [row.text() for row in machines.css("tfoot th")] == ["Total", "Average"]
    assert "GHz" in machines.text() or "cores" in machines.text()
    rows = processes_of(page)
    assert {"crawler", "indexer", "web", "query worker 1", "query worker 2"} <= rows.keys()
    assert "ended" in rows["crawler"] and re.search(r"\d [MG]B", rows["web"])
    counters = {pair.css_first("dt").text(): pair.css_first("dd").text() for pair in page.css("dl.counters > div")}
    assert int(counters["known URLs"].replace(",", "")) > 50 and counters["archive"].endswith("B")
    for table in page.css("table"):
        assert table.css_first("caption") is not None and all(th.attributes.get("scope") for th in table.css("th"))


def test_the_system_manager_as_json_and_csv(site: Site) -> None:
    answer = site.ask("/nodes.json", accept="application/json")
    system = decoded(answer.body, System)
    assert answer.headers["content-type"] == "application/json" and system.state == "idle"
    web = next(one for one in system.processes if one.name == "web")
    until(lambda: life_of_web(site) == "fresh")
    assert web.figures["rss"] > 0 and set(web.figures) <= set(FIGURES)
    history = decoded(site.ask("/nodes/history.json?minutes=5").body, HourHistory)
    assert history.step_s == 1 and {len(column) for column in history.series.values()} == {len(history.at)}
    assert any(value for value in history.series["memory_used"])
    answer = site.ask("/nodes/history.csv?minutes=1")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert answer.headers["content-type"].startswith("text/csv") and {"web", "(machine)"} <= {
        r["process"] for r in rows
    }
    for wrong in ("0", "61", "x", "-1"):
        assert site.ask(f"/nodes/history.json?minutes={wrong}").status == 400
        assert site.ask(f"/nodes?minutes={wrong}").status == 400


def test_M_A10_an_hour_of_history_survives_a_restart_of_the_web_process(tmp_path: Path) -> None:
    directory = Directory(tmp_path / "restarted")
    with serving(directory) as site:
        until(lambda: site.ask("/nodes/history.csv").text.count(",web,") >= 2)
    with serving(directory) as site:
        rows = list(csv.DictReader(io.StringIO(site.ask("/nodes/history.csv").text, newline="")))
        assert len([row for row in rows if row["process"] == "web"]) >= 2
        page = site.ask("/nodes").page
        assert len(page.css("table.minutes tbody tr")) >= 1
        assert page.css_first("#processes tbody th").text() == "web"


def test_a_process_without_a_heartbeat_is_shown_with_the_time_of_the_last_one(tmp_path: Path) -> None:
    directory, clock = Directory(tmp_path / "lost"), SystemClock()
    directory.root.mkdir()
    at = clock.now() - 90 * SECOND
    with SqliteControl(directory.control, clock) as control:
        control.note([Vitals("elsewhere", name, 7, at, at, {"cpu": 1.0}, "", "1.0") for name in (NODE, "crawler")])
    with serving(directory) as site:
        rows = {row.css_first("th").text(): row.text() for row in site.ask("/nodes").page.css("tbody tr")}
        assert (
            "no heartbeat since " in rows["crawler"]
            and "UTC" in rows["crawler"]
            and "no heartbeat since " in rows["elsewhere"]
        )
        assert "stopped responding" in site.ask("/nodes").text
        assert site.ask("/nodes.json").json["state"] == "interrupted"


def test_M_A10_the_page_is_updated_once_a_second(site: Site) -> None:
    with watching(site) as stream:
        assert stream.status == 200 and stream.headers["content-type"].startswith("text/event-stream")
        assert stream.readline() == b"retry: 2000\n"
        received = events(stream, 5)
    gaps = [(later.at - one.at) / SECOND for one, later in pairwise(received)]
    assert min(gaps) > 0 and max(gaps) >= 0.5 and min(gaps) <= 3, "a busy machine is sometimes late"
    last = received[-1]
    page = site.ask("/nodes").page
    keys = {node.attributes["data-cell"] for node in page.css("[data-cell]")}
    assert keys <= last.cells.keys(), "every live cell of the page has its text"
    assert page.css_first("#live").attributes["data-shape"] == last.shape
    assert {node.attributes["data-badge"] for node in page.css("[data-badge]")} == last.badges.keys()


def test_the_number_of_streams_is_limited_and_closed_ones_are_released(tmp_path: Path) -> None:
    with serving(Directory(tmp_path / "many")) as site:
        opened = [watching(site) for _ in range(MOST_STREAMS)]
        responses = [one.__enter__() for one in opened]
        assert all(one.readline() == b"retry: 2000\n" for one in responses)
        with watching(site) as refused:
            assert refused.status == 503 and refused.headers["retry-after"] == "5"
        assert site.ask("/nodes").status == 200, "the page itself can still be read"
        for one in opened:
            one.__exit__(None, None, None)

        def is_accepted() -> bool:
            with watching(site) as stream:
                return stream.status == 200

        until(is_accepted)
        until(lambda: streams(site) <= 1)


def test_a_server_that_stops_does_not_wait_for_open_streams(tmp_path: Path) -> None:
    ended: list[bool] = []
    with serving(Directory(tmp_path / "stops")) as site:
        started = threading.Event()

        def watch() -> None:
            with watching(site) as stream:
                events(stream, 1)
                started.set()
                while stream.readline():
                    pass
                ended.append(True)

        threads = [threading.Thread(target=watch) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert started.wait(LONG_S)
    for thread in threads:
        thread.join(LONG_S)
    assert len(ended) == 3, "each stream ended properly, before the server cuts open ones after two seconds"


def test_metrics_are_in_the_format_of_prometheus(site: Site) -> None:
    until(lambda: "query worker 2" in site.ask("/metrics").text)
    answer = site.ask("/metrics", accept="text/plain")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    metrics = families(answer.text)
    assert all(name.startswith("gossamer_") and family.says for name, family in metrics.items())
    up = {dict(labels)["process"]: value for labels, value in metrics["gossamer_process_up"].samples.items()}
    assert up["web"] == 1 and up["crawler"] == 0
    assert metrics["gossamer_process_cpu_seconds_total"].kind == "counter"
    of = {dict(labels)["of"]: value for labels, value in metrics["gossamer_collection"].samples.items()}
    assert of["pages"] == site.ask("/status.json").json["numbers"]["pages"]
    reasons = {dict(labels)["reason"] for labels in metrics["gossamer_addresses"].samples}
    assert {"fetched", "robots"} <= reasons
    open_answer = site.ask("/metrics", accept="application/openmetrics-text; version=1.0.0")
    assert open_answer.headers["content-type"].startswith("application/openmetrics-text")
    families(open_answer.text, is_open=True)


def test_F_W18_the_metrics_contain_no_secrets(site: Site) -> None:
    text = site.ask("/metrics").text
    assert "token" not in text and "/tmp" not in text and "demo.test" not in text


def test_labels_are_escaped() -> None:
    one = ProcessStatus(ODD, ODD, 7, "fresh", "", 5 * SECOND, 0.0, 1.0, "1.0", {"cpu_s": 2.0, "lost": 0.0})
    system = System(9 * SECOND, "running", processes=(one,), outcomes={ODD: 3}, hints=(Hint(ODD, "advice", "w", "m"),))
    for is_open in (False, True):
        metrics = families(written(metrics_of(system), is_open), is_open)
        name = "gossamer_process_cpu_seconds" + "_total" * (not is_open)
        assert metrics[name].samples == {(("node", ODD), ("process", ODD)): 2.0}
        assert metrics["gossamer_addresses"].samples == {(("reason", ODD),): 3.0}
    event = msgspec.json.encode(live_of(system))
    assert b"\n" not in event and json.loads(event)["at"] == 9 * SECOND, "an event is one line"


def test_an_empty_collection_has_a_system_manager_too(empty_site: Site) -> None:
    page = empty_site.ask("/nodes").page
    assert trouble_in(page) == [] and empty_site.ask("/nodes.json").json["state"] == "idle"
    families(empty_site.ask("/metrics").text)


def test_F_W1_names_of_machines_and_processes_are_shown_as_text(tmp_path: Path) -> None:
    directory, clock = Directory(tmp_path / "hostile"), SystemClock()
    directory.root.mkdir()
    with SqliteControl(directory.control, clock) as control:
        control.note([Vitals(ODD, name, 7, clock.now(), clock.now(), {}, ODD, ODD) for name in (NODE, ODD)])
    with serving(directory) as site:
        page = site.ask("/nodes").page
        assert trouble_in(page) == [] and not page.css("#live img")
        assert site.ask("/nodes/history.csv").status == 200
        families(site.ask("/metrics").text)
