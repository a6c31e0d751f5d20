"""Crawls on a cluster: segments in directories or S3, written by one node or two, with services that go away."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.site import OPEN, PATIENCE_S, Site, gossamer, harbour, started, wait_until
from tests.segments.cluster import Cluster, in_cloud, on_disks

from gossamer.archive.reader import read_capture
from gossamer.spool.codec import decode
from gossamer.spool.frames import SUFFIX, frames_from
from gossamer.store import captures
from gossamer.store.segments import VIEWS

FORMS: dict[str, Callable[[Path], Cluster]] = {"disks": on_disks, "cloud": in_cloud}
SETTINGS = {"fetch__allow_addresses": ["127.0.0.0/8"], "politeness__delay_s": 0.02, "archive__segment_s": 0.5}


def crawling(found: Cluster, name: str, *seeds: str, **variables: str) -> "subprocess.Popen[str]":
    """A node's crawler."""
    return started("crawl", *seeds, "--dir", found.node(name).root, *OPEN, "--json", **variables)


def settled(found: Cluster) -> set[str]:
    return {url for (url,) in found.rows("SELECT url FROM captures")}


def read_back(found: Cluster) -> dict[str, bytes]:
    """Every capture of the catalogue, as another process reads it."""
    directory, files = found.node(), found.files()
    kept = found.run(lambda state: list(captures.in_order(state)))
    bodies = {}
    for one in kept:
        capture = read_capture(files, directory.archive, one.place)
        assert capture is not None and capture.url == one.url
        bodies[one.url.text] = capture.body
    return bodies


def stopped(crawl: "subprocess.Popen[str]") -> tuple[int, list[dict[str, Any]], str]:
    crawl.send_signal(signal.SIGINT)
    out, err = crawl.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err, err
    return crawl.returncode, [json.loads(line) for line in out.splitlines()], err


@pytest.mark.parametrize("form", FORMS)
def test_a_crawl_on_a_cluster_waits_for_more_and_every_capture_can_be_read(form: str, tmp_path: Path) -> None:
    site, found = Site(harbour()), FORMS[form](tmp_path).set(**SETTINGS)
    with site.serving():
        crawl = crawling(found, "a", site.root)
        expected = {site.root.rstrip("/") + path for path in site.pages if path != "/private/x"}
        wait_until(lambda: expected <= settled(found), "the site is settled")
        assert crawl.poll() is None, "it waits: others may add work"
        code, events, err = stopped(crawl)
        assert code in (0, 130), err
        assert events[-1]["event"] == "crawl.ended" and events[-1]["stopped"]
    bodies = read_back(found)
    assert expected <= bodies.keys()
    assert all(
        bodies[site.root.rstrip("/") + path] == text.encode()
        for path, text in site.pages.items()
        if path != "/private/x"
    )
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
    volumes = gossamer("export", "warc", "--dir", found.node().root, "--out", tmp_path / "out")
    assert volumes.returncode == 0, volumes.stderr
