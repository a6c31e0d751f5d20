"""`make long-crawl`: a crawl of a large demonstration web, stopped again and again, checked by the server's own log.

    python -m tests.crash.long --pages 90000 --hosts 300 --traps 200 --restarts 20

Every second stop is a clean one, the others are kills. At the end: recall, pages that must not be fetched, politeness,
and the fetches that each trap cost.
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
    lines = JsonLines(sys.stdout)
    uvloop.run(crawl_to_end(Directory(root), SETTINGS, seeds, Network(plan, plan), real_outside(), lines, signals=True))


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


def run_with_stops(root: Path, arguments: list[str], port: int, stops: list[int]) -> int:
    """Crawl to the end, with a stop after each number of fetches in `stops`. The number of acknowledged fetches."""
    visits, stops, started = 0, list(stops), time.monotonic()
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
        print(f"{visits:,} fetches after {time.monotonic() - started:.0f} s; stopped", flush=True)
        stops.pop(0)
        assert time.monotonic() - started < PATIENCE_S, "the crawl takes too long"


def stop(crawl: "subprocess.Popen[str]", is_clean: bool) -> None:
    if is_clean:
        crawl.send_signal(signal.SIGTERM)
        return
    tree = [*psutil.Process(crawl.pid).children(recursive=True), psutil.Process(crawl.pid)]
    for process in tree:
        process.kill()


def checked(root: Path, web: DemoWeb) -> Verdict:
    directory = Directory(root / "crawl")
    searcher = Searcher(directory.index)
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(read_only(directory.state)) as state:
        found = {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
        broken = sum(row.broken for row in ledger(state))
    print(f"the ledger counts {broken} gaps that were too short")
    hits = read_log(DiskFiles(), root / "access.log")
    return check(manifest_of(web), found, hits, SETTINGS.politeness.delay_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", nargs=2, metavar=("DIR", "PORT"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=90_000)
    parser.add_argument("--traps", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=20)
    options = parser.parse_args()
    web = DemoWeb(options.seed, options.hosts, options.pages, traps=options.traps)
    if options.child:
        child(Path(options.child[0]), int(options.child[1]), web)
        return
    shape = ["--seed", options.seed, "--hosts", options.hosts, "--pages", options.pages, "--traps", options.traps]
    arguments = [str(one) for one in shape]
    stops = [options.pages * number // (options.restarts + 1) for number in range(1, options.restarts + 1)]
    with tempfile.TemporaryDirectory(prefix="gossamer-long-") as scratch:
        root = Path(scratch)
        with serving(root, arguments) as port:
            visits = run_with_stops(root, arguments, port, stops)
        verdict = checked(root, web)
    report(visits, verdict)
    sys.exit(0 if verdict.passes else 1)


def report(visits: int, verdict: Verdict) -> None:
    print(f"{visits:,} fetches acknowledged, {verdict.hits:,} in the server's log")
    print(f"pages {verdict.pages_found:,} of {verdict.pages_expected:,}")
    print(f"facts {verdict.facts_found:,} of {verdict.facts_expected:,}")
    print(f"disallowed pages fetched: {len(verdict.disallowed_fetched)}")
    print(f"fetches too early: {len(verdict.politeness_violations)}")
    for trap in verdict.traps:
        print(f"  {trap.what}: {trap.found:,} of {trap.real:,} real pages, {trap.wasted:,} wasted fetches")
    for kind in ("missing", "disallowed_fetched", "politeness_violations", "wrong_facts"):
        for one in getattr(verdict, kind)[:5]:
            print(f"{kind}: {one}")


if __name__ == "__main__":
    main()
