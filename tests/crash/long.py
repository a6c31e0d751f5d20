"""`make long-crawl`: a crawl of a large demonstration web, stopped again and again, judged by the server's own log.

    python -m tests.crash.long --pages 90000 --hosts 300 --traps 200 --restarts 20

Every second stop is a clean one, the others are kills. At the end: recall, pages that must not be fetched, politeness,
and what each site without an end cost.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import uvloop

from gossamer.base.environment import Network, real_outside
from gossamer.base.files import DiskFiles
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.progress import JsonLines
from gossamer.config.settings import CrawlSettings, PolitenessSettings, RetrySettings, Settings
from gossamer.demo.server import read_log
from gossamer.demo.verdict import CrawledPage, Verdict, check, manifest_of
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.frontier.reports import every_end, ledger
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.url import Url
from gossamer.views.words.searcher import Searcher

SETTINGS = Settings(
    contact="https://crash.demo.test/",
    crawl=CrawlSettings(scope="any"),
    politeness=PolitenessSettings(delay_s=0.1, times_took=1.0, robots_retry_s=1.0, robots_tries=2),
    retry=RetrySettings(base_s=1.0, cap_s=4.0, tries=3),
)
PATIENCE_S = 3600.0


def child(root: Path, port: int, web: DemoWeb) -> None:
    plan = address_plan(web, port)
    seeds = [Url(seed) for seed in web.seeds]
    face = JsonLines(sys.stdout)
    uvloop.run(crawl_to_end(Directory(root), SETTINGS, seeds, Network(plan, plan), real_outside(), face, signals=True))


@contextmanager
def serving(root: Path, arguments: list[str]) -> Iterator[int]:
    port_file = root / "port"
    command = [sys.executable, "-m", "gossamer.demo.server", *arguments]
    server = subprocess.Popen([*command, "--log", str(root / "access.log"), "--port-file", str(port_file)])
    try:
        while not port_file.exists() or not port_file.read_text():
            time.sleep(0.05)
        yield int(port_file.read_text())
    finally:
        server.terminate()
        server.wait()


def lives(root: Path, arguments: list[str], port: int, stops: list[int]) -> int:
    """Crawl to the end, stopped after so many visits each time. How many visits were acknowledged."""
    visits, stops, began = 0, list(stops), time.monotonic()
    while True:
        command = [sys.executable, "-m", "tests.crash.long", "--child", str(root / "crawl"), str(port), *arguments]
        crawl = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert crawl.stdout is not None
        is_stopped = False
        for line in crawl.stdout:
            visits += '"visit.settled"' in line
            if stops and visits >= stops[0] and not is_stopped:
                is_stopped = True
                stop(crawl, is_clean=len(stops) % 2 == 0)
        crawl.wait()
        if not is_stopped:
            assert crawl.returncode == 0, f"the crawl ended with {crawl.returncode}"
            return visits
        print(f"{visits:,} visits after {time.monotonic() - began:.0f} s; stopped", flush=True)
        stops.pop(0)
        assert time.monotonic() - began < PATIENCE_S, "it takes too long"


def stop(crawl: "subprocess.Popen[str]", is_clean: bool) -> None:
    if is_clean:
        crawl.send_signal(signal.SIGTERM)
        return
    tree = [*psutil.Process(crawl.pid).children(recursive=True), psutil.Process(crawl.pid)]
    for process in tree:
        process.kill()


def judged(root: Path, web: DemoWeb) -> Verdict:
    directory = Directory(root / "crawl")
    searcher = Searcher(directory.index)
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(read_only(directory.state)) as state:
        found = {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
        broken = sum(row.broken for row in ledger(state))
    print(f"the ledger counts {broken} broken promises")
    hits = read_log(DiskFiles(), root / "access.log")
    return check(manifest_of(web), found, hits, SETTINGS.politeness.delay_s)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--child", nargs=2, metavar=("DIR", "PORT"))
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--hosts", type=int, default=300)
    asked.add_argument("--pages", type=int, default=90_000)
    asked.add_argument("--traps", type=int, default=200)
    asked.add_argument("--restarts", type=int, default=20)
    given = asked.parse_args()
    web = DemoWeb(given.seed, given.hosts, given.pages, traps=given.traps)
    if given.child:
        child(Path(given.child[0]), int(given.child[1]), web)
        return
    shape = ["--seed", given.seed, "--hosts", given.hosts, "--pages", given.pages, "--traps", given.traps]
    arguments = [str(one) for one in shape]
    stops = [given.pages * number // (given.restarts + 1) for number in range(1, given.restarts + 1)]
    with tempfile.TemporaryDirectory(prefix="gossamer-long-") as scratch:
        root = Path(scratch)
        with serving(root, arguments) as port:
            visits = lives(root, arguments, port, stops)
        verdict = judged(root, web)
    tell(visits, verdict)
    sys.exit(0 if verdict.passes else 1)


def tell(visits: int, verdict: Verdict) -> None:
    print(f"{visits:,} visits acknowledged, {verdict.hits:,} in the server's log")
    print(f"pages {verdict.pages_found:,} of {verdict.pages_expected:,}")
    print(f"facts {verdict.facts_found:,} of {verdict.facts_expected:,}")
    print(f"disallowed pages fetched: {len(verdict.disallowed_fetched)}")
    print(f"visits too early: {len(verdict.politeness_violations)}")
    for trap in verdict.traps:
        print(f"  {trap.what}: {trap.found:,} of {trap.real:,} real pages, {trap.wasted:,} visits beside")
    for kind in ("missing", "disallowed_fetched", "politeness_violations", "wrong_facts"):
        for one in getattr(verdict, kind)[:5]:
            print(f"{kind}: {one}")


if __name__ == "__main__":
    main()
