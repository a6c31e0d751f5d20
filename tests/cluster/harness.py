"""A cluster in tests: real services, nodes as processes, the demonstration web, and a verdict on what they did."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tests.cluster.services import Services
from tests.cluster.web import REPOSITORY, ServedWeb
from tests.crash.verify import fetched_after
from tests.services import java
from tests.services.proxy import Proxy

from gossamer.archive.catalogue import Catalogue
from gossamer.base.errors import GossamerError
from gossamer.base.files import DiskFiles
from gossamer.collection.cluster.intake import add_work
from gossamer.collection.directory import outside_of
from gossamer.demo.server import Logged
from gossamer.demo.verdict import Verdict, verdict_of
from gossamer.store import tallies
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.store.state import enter_cluster, open_state
from gossamer.values.url import Url

DELAY_S = 0.1
SETTINGS = {
    "contact": "https://demo.test/about-the-crawler",
    "crawl.scope": "any",
    "archive.segment_s": "0.25",  # a web of few hosts would wait for its segments
    "politeness.delay_s": str(DELAY_S),
    "politeness.times_took": "1.0",
    "politeness.robots_retry_s": "1.0",
    "politeness.robots_tries": "2",
    "retry.base_s": "1.0",
    "retry.cap_s": "4.0",
}
PATIENCE_S = 600.0
QUIET_S = 3.0
"""How long nothing may be waiting anywhere before the crawl counts as over."""


def run(*words: str | Path, patience_s: float = PATIENCE_S) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gossamer", *map(str, words)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=patience_s, check=False)


def done(*words: str | Path) -> str:
    """The output of a command that must succeed."""
    result = run(*words)
    assert result.returncode == 0, f"{' '.join(map(str, words[:3]))}: {result.stderr or result.stdout}"
    return result.stdout


@dataclass(slots=True)
class NodeProcess:
    """One node: `gossamer node`, with a crawler that knows the demonstration web."""

    name: str
    address: str
    folder: Path
    web: ServedWeb
    words: tuple[str, ...] = ()
    """Further arguments."""
    clock: str = ""
    """By how much its clock is wrong, as `faketime` takes it: "+1h"."""
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.cluster.node", str(self.web.file), self.address]
        command += ["--name", self.name, "--dir", str(self.folder / "scratch"), *self.words]
        if self.clock:
            command = ["faketime", "-f", self.clock, *command]
        environment = os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "PYTHONPATH": str(REPOSITORY)}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=environment,
                preexec_fn=java.ends_with_parent,
            )

    def tree(self) -> list[psutil.Process]:
        assert self.process is not None
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(self.process.pid)
            return [top, *top.children(recursive=True)]
        return []

    def of(self, word: str) -> list[psutil.Process]:
        """Its processes with this word in their command line."""
        found = []
        for one in self.tree():
            with suppress(psutil.NoSuchProcess):
                if any(word in part for part in one.cmdline()):
                    found.append(one)
        return found

    def kill(self) -> None:
        """All of it at once, as when its machine loses power."""
        for one in self.tree():
            with suppress(psutil.NoSuchProcess):
                one.kill()
        if self.process is not None:
            self.process.wait(30)

    def freeze(self, frozen: bool = True) -> None:
        for one in self.tree():
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop(self) -> int:
        """An orderly stop; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def acknowledged(self) -> list[dict[str, object]]:
        """The fetches that its crawlers acknowledged."""
        path = self.folder / "scratch" / "acknowledged"
        events = []
        for line in path.read_text().splitlines() if path.is_file() else ():
            with suppress(ValueError):  # the last line of a crawler that was killed
                events.append(json.loads(line))
        return [one for one in events if one.get("event") == "visit.settled"]

    def printed(self) -> str:
        return (self.folder / "log").read_text() if (self.folder / "log").is_file() else ""


@dataclass(slots=True)
class Outcome:
    """What a cluster did, measured at the web server, in the catalogue and in the views."""

    verdict: Verdict
    twice: list[str]
    """Pages that were requested more often than was announced: also those in flight when a crawler was killed."""
    fetched_after: list[str]
    """Pages that were requested although their fetch had been acknowledged as the last one."""
    lost: list[str]
    """Acknowledged pages that the archive cannot return."""
    acknowledged: int
    pages: int

    def errors(self, in_flight: int = 0) -> list[str]:
        """`in_flight`: how many fetches may have been in flight when crawlers were killed or lost their leases; each is
        repeated once."""
        verdict, found = self.verdict, list[str]()
        listed = {
            "missing": verdict.missing,
            "forbidden": verdict.disallowed_fetched,
            "too early": [f"{one.url} after {one.gap_s:.3f} s" for one in verdict.politeness_violations],
            "with wrong facts": [f"{one.url}: {one.found} of {one.expected}" for one in verdict.wrong_facts],
            "fetched twice": self.twice if len(self.twice) > in_flight else (),
            "fetched after they were acknowledged": self.fetched_after,
            "lost": self.lost,
        }
        for words, urls in listed.items():
            if urls:
                found.append(f"{len(urls)} {words}: {', '.join(urls[:5])}")
        return found


@dataclass(slots=True)
class TestCluster:
    __test__ = False
    services: Services
    web: ServedWeb
    folder: Path
    nodes: list[NodeProcess] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    last_way: Proxy | None = None
    """Between the last node and the database, if that node has a way of its own."""

    def init(self) -> None:
        done("cluster", "init", *self.services.init)
        for name, value in (SETTINGS | self.settings).items():
            done("cluster", "settings", self.address, "set", name, value)
        enter_cluster(self.directory, self.address, DiskFiles())

    @property
    def address(self) -> str:
        return self.services.address

    @property
    def directory(self) -> Directory:
        return Directory(self.folder / "reader")

    def add(self, *words: str, address: str = "", clock: str = "") -> NodeProcess:
        name = f"n{len(self.nodes) + 1}"
        node = NodeProcess(name, address or self.address, self.folder / name, self.web, words, clock)
        self.nodes.append(node)
        node.start()
        return node

    def seed(self) -> None:
        """As `gossamer crawl SEEDS --dir ADDRESS` does, whose names do not resolve here."""
        seeds, settings = [Url(text) for text in self.web.plan.web.seeds], config_of(self.directory.root).settings
        asyncio.run(add_work(self.directory, settings, seeds, {}, outside_of(self.directory)))

    def waiting(self) -> dict[str, int]:
        """What is still to be done."""
        with closing(open_state(self.directory)) as state:
            counts = tallies.counts(state)
            rows = state.execute("SELECT view, count(*) FROM work WHERE set_aside_at IS NULL GROUP BY view")
            work = {str(view): int(number) for view, number in rows.fetchall()}
            return {"queued": counts.queued, "leased": counts.leased, "pages": counts.pages, **work}

    def wait_until_over(self, patience_s: float = PATIENCE_S, look: Callable[[], object] = lambda: None) -> None:
        """Until nothing is queued, in flight or waiting for a view, for a while. Fails when nothing moves any more."""
        quiet_since_s, last, moved_s = None, dict[str, int](), time.monotonic()
        while quiet_since_s is None or time.monotonic() - quiet_since_s < QUIET_S:
            time.sleep(0.5)
            look()
            try:
                now = self.waiting()
            except GossamerError:  # the database may be away on purpose
                now = {"away": 1}
            if now != last:
                last, moved_s = now, time.monotonic()
            assert time.monotonic() - moved_s < patience_s, f"nothing moves any more: {now}\n{self.logs()}"
            quiet_since_s = (quiet_since_s or time.monotonic()) if is_nothing_left(now) else None

    def wait_until(self, is_so: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        give_up_s = time.monotonic() + patience_s
        while not is_so():
            assert time.monotonic() < give_up_s, f"there never was {what}: {self.waiting()}\n{self.logs()}"
            time.sleep(0.2)

    def nodes_cpu_s(self) -> float:
        """CPU seconds of all processes of the nodes that still run, and of their children that have ended."""
        used = 0.0
        for node in self.nodes:
            for one in node.tree():
                with suppress(psutil.NoSuchProcess):
                    times = one.cpu_times()
                    used += times.user + times.system + times.children_user + times.children_system
        return round(used, 2)

    def search_page(self) -> str:
        """The link that the first node prints, with its token."""
        found: list[str] = []

        def is_there() -> bool:
            found[:] = re.findall(r"search page: (\S+)", self.nodes[0].printed())
            return bool(found)

        self.wait_until(is_there, "a search page")
        return found[0]

    def is_over(self) -> bool:
        try:
            return is_nothing_left(self.waiting())
        except GossamerError:
            return False

    def logs(self) -> str:
        return "\n".join(f"--- {node.name}\n{node.printed()[-3000:]}" for node in self.nodes)

    def outcome(self) -> Outcome:
        hits = self.web.hits()
        settled = [event for node in self.nodes for event in node.acknowledged()]
        verdict = verdict_of(self.web.plan.web, self.directory, hits, DELAY_S)
        return Outcome(
            verdict=verdict,
            twice=fetched_twice(hits, settled),
            fetched_after=fetched_after(hits, settled),
            lost=self.lost(settled),
            acknowledged=len(settled),
            pages=self.waiting()["pages"],
        )

    def lost(self, settled: Sequence[dict[str, object]]) -> list[str]:
        """Acknowledged pages that the archive cannot return."""
        gone, outside = [], outside_of(self.directory)
        with Catalogue(self.directory, outside.files) as catalogue:
            for event in settled:
                if event["is_page"]:
                    versions = catalogue.versions(Url(str(event["url"])))
                    whole = (catalogue.read(kept) for kept in versions if kept.size == event["size"])
                    if not any(capture is not None and len(capture.body) == event["size"] for capture in whole):
                        gone.append(str(event["url"]))
        return gone

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()


def is_nothing_left(waiting: dict[str, int]) -> bool:
    return waiting.get("pages", 0) > 0 and not any(n for name, n in waiting.items() if name != "pages")


def fetched_twice(hits: Sequence[Logged], settled: Sequence[dict[str, object]]) -> list[str]:
    """Pages fetched more often than was announced. A fetch in flight at a kill is repeated; tests that kill count
    these."""
    again = Counter(str(event["url"]) for event in settled if event["again"])
    asked = Counter(hit.url for hit in hits if hit.target != "/robots.txt")
    return sorted(url for url, times in asked.items() if times > 1 + again[url])


@contextmanager
def cluster(services: Services, web: ServedWeb, folder: Path, **settings: str) -> Iterator[TestCluster]:
    found = TestCluster(
        services, web, folder, settings={name.replace("__", "."): one for name, one in settings.items()}
    )
    try:
        found.init()
        yield found
    finally:
        found.stop()
