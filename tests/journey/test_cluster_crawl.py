"""Crawls on a cluster: segments in directories or S3, written by one node or two, with services that go away."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.site import OPEN, PATIENCE_S, Site, gossamer, harbour, page, started, wait_until
from tests.segments.cluster import AT_ONCE, Cluster, in_cloud, on_disks
from tests.services import s3

from gossamer.archive.reader import read_capture
from gossamer.base.clock import SECOND, Instant, SystemClock
from gossamer.monitor.choice import control_of
from gossamer.spool.codec import decode
from gossamer.spool.frames import SUFFIX, frames_from
from gossamer.store import captures
from gossamer.store.segments import VIEWS

FORMS: dict[str, Callable[[Path], Cluster]] = {"disks": on_disks, "cloud": in_cloud}
SETTINGS = {"fetch__allow_addresses": ["127.0.0.0/8"], "politeness__delay_s": 0.02, "archive__segment_s": 0.5}


@contextmanager
def crawling(found: Cluster, name: str, *seeds: str, **variables: str) -> "Iterator[subprocess.Popen[str]]":
    """A node's crawler; at the end of the block it is not running."""
    crawl = started("crawl", *seeds, "--dir", found.node(name).root, *OPEN, "--json", **variables)
    try:
        yield crawl
    finally:
        if crawl.poll() is None:
            crawl.kill()
            crawl.communicate()


def wait_for(crawl: "subprocess.Popen[str]", is_so: Callable[[], bool], why: str) -> None:
    def is_so_or_ended() -> bool:
        return is_so() or crawl.poll() is not None

    wait_until(is_so_or_ended, why)
    assert is_so(), f"{why}: the crawl ended: {crawl.communicate()[1]}"


def settled(found: Cluster) -> set[str]:
    return {url for (url,) in found.rows("SELECT url FROM captures")}


def pages_of(site: Site) -> dict[str, bytes]:
    return {site.root.rstrip("/") + path: text.encode() for path, text in site.pages.items() if path != "/private/x"}


def read_back(found: Cluster) -> dict[str, bytes]:
    """Every capture of the catalogue, as another process reads it."""
    directory, files, bodies = found.node(), found.files(), dict[str, bytes]()
    for one in found.run(lambda state: list(captures.in_order(state))):
        capture = read_capture(files, directory.archive, one.place)
        assert capture is not None and capture.url == one.url
        bodies[one.url.text] = capture.body
    return bodies


def stop(crawl: "subprocess.Popen[str]") -> tuple[list[dict[str, Any]], str]:
    crawl.send_signal(signal.SIGINT)
    out, err = crawl.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err and crawl.returncode in (0, 130), err
    return [json.loads(line) for line in out.splitlines()], err


def crawler_of(found: Cluster, name: str) -> tuple[str, str]:
    """Its state, and what it waits for."""
    with control_of(found.node(name), SystemClock()) as control:
        state = next((one.state for one in control.vitals() if one.process == "crawler" and one.node == name), "")
        beat = next((one for one in control.beats() if one.name == "crawler" and one.node == name), None)
    return state, str(beat.facts.get("waits")) if beat is not None else ""


def heard_at(found: Cluster, name: str) -> Instant:
    """When its crawler last sent a heartbeat."""
    with control_of(found.node(name), SystemClock()) as control:
        return max((one.at for one in control.beats() if one.name == "crawler" and one.node == name), default=0)


@pytest.mark.parametrize("form", FORMS)
def test_a_crawl_on_a_cluster_waits_for_more_and_every_capture_can_be_read(form: str, tmp_path: Path) -> None:
    site, found = Site(harbour()), FORMS[form](tmp_path).set(**SETTINGS)
    with site.serving(), crawling(found, "a", site.root) as crawl:
        wait_for(crawl, lambda: pages_of(site).keys() <= settled(found), "the site is settled")
        assert crawl.poll() is None, "it waits: others may add work"
        events, _ = stop(crawl)
        assert events[-1]["event"] == "crawl.ended" and events[-1]["stopped"]
    bodies = read_back(found)
    assert pages_of(site).items() <= bodies.items()
    scratch = found.node("a")
    assert not any(scratch.archive.iterdir()) and not any(scratch.spool.iterdir()), "nothing lasting is on the node"
    segments = found.rows("SELECT name, records, settled_at FROM segments")
    work = found.rows("SELECT s.name, w.view, w.first, w.beyond FROM work w JOIN segments s ON s.id = w.volume_id")
    assert sorted(work) == sorted((name, view, 1, records) for name, records, _ in segments for view in VIEWS)
    assert all(at for *_, at in segments)
    files, spool = found.files(), found.node().spool
    assert files.names(spool) == sorted(name + SUFFIX for name, *_ in segments)
    for name, records, _ in segments:
        frames = list(frames_from(files, spool / (name + SUFFIX), 0))
        assert [one.head.number for one in frames] == [*range(1, records), 0]
        assert all(decode(one.payload) for one in frames if one.payload)
    exported = gossamer("export", "warc", "--dir", scratch.root, "--out", tmp_path / "out")
    assert exported.returncode == 0, exported.stderr


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("point", ["segment.stored:3", "segment.added:3", "frontier.settled:3"])
def test_a_crash_loses_nothing_and_leaves_only_what_is_removed(form: str, point: str, tmp_path: Path) -> None:
    site, found = Site(harbour()), FORMS[form](tmp_path).set(**SETTINGS)
    with site.serving():
        with crawling(found, "a", site.root, GOSSAMER_CRASH_AT=point) as crawl:
            crawl.wait(PATIENCE_S)
        assert crawl.returncode == -signal.SIGKILL
        before = read_back(found)
        with crawling(found, "a") as crawl:
            wait_for(crawl, lambda: pages_of(site).keys() <= settled(found), "the rest is settled")
            stop(crawl)
    after = read_back(found)
    assert pages_of(site).items() <= after.items() and before.items() <= after.items()
    repeated = [path for path in site.pages_hit() if site.pages_hit().count(path) > 1]
    assert len(repeated) <= 2 * len(set(repeated)) and len(set(repeated)) <= 1, "only the fetch in flight is repeated"
    stored = set(found.files().storage.names("archive/"))
    known = {name for (name,) in found.rows("SELECT name FROM segments WHERE settled_at IS NOT NULL")}
    assert known <= stored and len(stored - known) == (point != "frontier.settled:3")
    found.upkeep(AT_ONCE, most_objects=1000).run()
    assert set(found.files().storage.names("archive/")) == known
    assert read_back(found) == after


def test_a_crawl_waits_for_storage_that_is_away_and_continues(tmp_path: Path) -> None:
    own = s3.own_server(tmp_path / "server")
    try:
        site, found = Site(harbour(20)), in_cloud(tmp_path, own).set(**SETTINGS)
        with site.serving(), crawling(found, "a", site.root) as crawl:
            wait_for(crawl, lambda: len(settled(found)) >= 4, "it has begun")
            own.stop()
            wait_for(crawl, lambda: crawler_of(found, "a")[0] == "suspended", "it says so")
            assert "does not answer (connection refused)" in crawler_of(found, "a")[1]
            since = heard_at(found, "a")
            wait_for(crawl, lambda: heard_at(found, "a") > since + SECOND, "the fetch in progress ends")
            hits, since = list(site.hits), heard_at(found, "a")
            wait_for(crawl, lambda: heard_at(found, "a") > since + 2 * SECOND, "two seconds pass")
            assert site.hits == hits, "nothing new is taken"
            own.start()
            wait_for(crawl, lambda: pages_of(site).keys() <= settled(found), "it continues by itself")
            events, _ = stop(crawl)
        names = [one["event"] for one in events]
        assert names.count("storage.suspended") == 1 and "storage.back" in names
        assert len(site.pages_hit()) == len(set(site.pages_hit())), "nothing is fetched twice"
        assert pages_of(site).items() <= read_back(found).items()
    finally:
        own.stop()


def test_a_crawl_that_is_stopped_while_its_storage_is_away_ends(tmp_path: Path) -> None:
    own = s3.own_server(tmp_path / "server")
    try:
        site, found = Site(harbour(20)), in_cloud(tmp_path, own).set(**SETTINGS)
        with site.serving(), crawling(found, "a", site.root) as crawl:
            wait_for(crawl, lambda: len(settled(found)) >= 4, "it has begun")
            own.stop()
            wait_for(crawl, lambda: crawler_of(found, "a")[0] == "suspended", "it says so")
            events, _ = stop(crawl)
        names = [one["event"] for one in events]
        assert "storage.suspended" in names and "storage.back" not in names
    finally:
        own.stop()


def test_storage_that_refuses_us_is_one_clear_error(tmp_path: Path) -> None:
    found = in_cloud(tmp_path).set(archive__storage=s3.server().address("p", secret="wrong"), **SETTINGS)
    with Site(harbour()).serving() as site, crawling(found, "a", site.root) as crawl:
        _, err = crawl.communicate(timeout=PATIENCE_S)
    assert crawl.returncode not in (0, None) and "refuses our credentials" in err and "Traceback" not in err
    assert s3.SECRET not in err and "wrong" not in err


def test_two_nodes_share_a_crawl(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(8)]
    pages = {"/": page("Start", "Words.", *paths)} | {path: page(path, "Words.") for path in paths}
    sites, found = [Site(pages) for _ in range(4)], in_cloud(tmp_path).set(**SETTINGS)
    with ExitStack() as running:
        for site in sites:
            running.enter_context(site.serving())
        one = running.enter_context(crawling(found, "a", *(site.root for site in sites)))
        two = running.enter_context(crawling(found, "b"))
        wanted = {url for site in sites for url in pages_of(site)}
        wait_for(one, lambda: wanted <= settled(found), "all sites are settled")
        stop(one)
        stop(two)
    assert all(len(site.pages_hit()) == 9 for site in sites), "each page is fetched once"
    assert {url: body for site in sites for url, body in pages_of(site).items()}.items() <= read_back(found).items()


def test_fetching_pauses_while_a_view_is_too_far_behind(tmp_path: Path) -> None:
    site, found = Site(harbour()), on_disks(tmp_path).set(views__backlog=1000, **SETTINGS)
    with site.serving(), crawling(found, "a", site.root) as crawl:
        wait_for(crawl, lambda: pages_of(site).keys() <= settled(found), "the site is settled")
        found.run(lambda state: state.execute("UPDATE work SET beyond = beyond + 2000 WHERE view = 'words'"))
        wait_for(crawl, lambda: "waiting for the indexers: the view words" in crawler_of(found, "a")[1], "it says so")
        found.run(lambda state: state.execute("UPDATE work SET set_aside_at = 1"))
        wait_for(crawl, lambda: "indexers" not in crawler_of(found, "a")[1], "rows that were set aside do not count")
        stop(crawl)
    assert pages_of(site).items() <= read_back(found).items()
