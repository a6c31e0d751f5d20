"""The pages and metrics of a cluster, with nodes that run."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.site import Site as Crawled
from tests.cluster.grounds import LONG_S, Grounds, Running, grounds, until
from tests.web.crawling import Admin
from tests.web.crawling import until as waited
from tests.web.exposition import families
from tests.web.site import serving, trouble_in

from gossamer.monitor.nodes import SILENT_S

__all__ = ["grounds"]
WORK = """INSERT INTO work (volume_id, view, first, beyond, added_at)
SELECT id, '{}', 1, 8, micros_now() FROM volumes"""


@contextmanager
def two_nodes(grounds: Grounds) -> Iterator[tuple[Running, Running]]:
    """Running on a thread of their own, while the test asks the site."""
    started, over, nodes = threading.Event(), threading.Event(), list[Running]()

    async def run() -> None:
        async with grounds.running("a", ("crawl", "index")) as one, grounds.running("b", ("serve",)) as two:
            await until(lambda: one.starts("crawl") and two.starts("serve"))
            nodes.extend((one, two))
            started.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert started.wait(LONG_S)
        yield nodes[0], nodes[1]
    finally:
        over.set()
        thread.join(LONG_S)


@contextmanager
def admin(grounds: Grounds) -> Iterator[Admin]:
    directory = grounds.directory
    with serving(directory) as site:
        yield Admin(site, Crawled({}), directory, (directory.root / "token").read_text().strip())


def test_the_page_shows_nodes_services_backlog_and_events_and_drains_and_removes(grounds: Grounds) -> None:
    grounds.run("INSERT INTO volumes (name, owner) VALUES ('gossamer-1.warc.gz', 'cluster')")
    grounds.run(WORK.format("words"))
    grounds.run("UPDATE work SET set_aside_at = 1, why = 'it broke' WHERE view = 'words'")
    grounds.run(WORK.format("facts"))
    with two_nodes(grounds) as (one, _), admin(grounds) as site:
        waited(lambda: "process" in site.site.ask("/nodes").page.css_first("#processes").text(), "no process")
        page = site.get("/nodes").page
        assert trouble_in(page) == []
        rows = {row.css_first("th").text().split()[0]: row.text() for row in page.css("#nodes tbody tr")}
        assert rows.keys() == {"a", "b"} and "crawl, index" in rows["a"] and "eu" in rows["a"] and "alive" in rows["a"]
        assert "PostgreSQL" in page.css_first("#services").text() and "answers" in page.css_first("#services").text()
        assert "7 records waiting" in page.css_first("#services").text()
        assert "1 segment set aside" in page.css_first("#services").text()
        events = page.css_first("#events").text()
        assert "a joined on this machine: crawl, index" in events and "set aside for words: it broke" in events
        keys = {node.attributes["data-cell"] for node in page.css("[data-cell]")}
        system = site.json("/nodes.json")
        assert {node["name"]: node["life"] for node in system["cluster"]["nodes"]} == {"a": "fresh", "b": "fresh"}
        assert system["totals"]["nodes"] == 1, "both are on one machine, which counts once"
        assert any(key.startswith("node/a/") for key in keys)
        metrics = families(site.site.ask("/metrics").text)
        assert metrics["gossamer_node_up"].samples == {(("node", "a"),): 1.0, (("node", "b"),): 1.0}
        assert metrics["gossamer_service_up"].samples[(("service", "database"),)] == 1.0
        assert metrics["gossamer_view_backlog_records"].samples[(("view", "facts"),)] == 7.0
        assert "Drain" not in site.site.ask("/nodes").text, "changes need the token"
        assert site.site.ask("/nodes/drain", "POST", b"node=a").status in (401, 403)
        asked = site.get("/nodes?confirm=drain&node=a")
        assert "Drain a?" in asked.page.css_first("#sure").text()
        assert "is alive: drain it first" in site.change("/nodes/remove", node="a")
        assert "a drains" in site.change("/nodes/drain", node="a")
        waited(lambda: one.task.done(), "the node has not ended")
        waited(lambda: "left" in site.get("/nodes").page.css_first("#nodes").text(), "it is not shown as left")
        assert "a is removed" in site.change("/nodes/remove", node="a")
        assert "there is no node" in site.change("/nodes/drain", node="a").lower()


def test_the_crawl_page_pauses_a_cluster_with_and_without_crawlers(grounds: Grounds) -> None:
    with admin(grounds) as site:
        assert "No node of this cluster crawls now" in site.change("/crawl/start")
        assert "also those that start later" in site.change("/crawl/stop")
        assert grounds.marks().is_paused
        assert "continue" in site.change("/crawl/resume") and not grounds.marks().is_paused


def test_a_silent_node_is_shown_with_the_time_of_its_last_heartbeat(grounds: Grounds) -> None:
    async def come_and_go() -> None:
        async with grounds.running("gone"):
            await until(lambda: grounds.node("gone"))

    asyncio.run(come_and_go())
    grounds.run(f"UPDATE nodes SET state = '', beat_at = beat_at - {round(2 * SILENT_S * 1e6)}")
    with admin(grounds) as site:
        shown = site.get("/nodes").page.css_first("#nodes tbody").text()
        assert "no heartbeat since" in shown and "Remove" in shown and "Drain" not in shown
        assert site.json("/nodes.json")["cluster"]["nodes"][0]["life"] == "silent"
