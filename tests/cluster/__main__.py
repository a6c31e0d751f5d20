"""`make cluster`: four real services, nodes, and the demonstration web, all on this machine.

python -m tests.cluster --nodes 3 --pages 3000            until Ctrl-C; prints the link of the search page
python -m tests.cluster --nodes 3 --pages 20000 --exit    ends by itself; exit code 1 if anything is wrong
python -m tests.cluster --fault failover --pages 20000    the same, with a fault in the middle
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.cluster import faults
from tests.cluster.harness import TestCluster, cluster
from tests.cluster.services import Services, why_absent
from tests.cluster.web import WebPlan, served
from tests.services.proxy import Proxy

from gossamer.base.errors import GossamerError

HOSTS_AT = 400
"""Pages a host: with less, gaps between fetches do not hold up a crawl."""


IN_FLIGHT = {"kills": 30_000, "frozen": 400, "lost": 400, "cut-off": 400, "failover": 400, "database": 1200}
"""At most so many fetches may be repeated: `crawl.at_once`, slow ones included, for each crawler that loses its leases.
Those that were acknowledged are never repeated."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--hosts", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exit", action="store_true", help="check what was found, and exit")
    parser.add_argument("--fault", choices=sorted(faults.FAULTS), help="let this happen in the middle; implies --exit")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if why := why_absent():
        sys.exit(f"a cluster needs its services: {why}")
    plan = WebPlan(given.hosts or max(12, given.pages // HOSTS_AT), given.pages, given.seed)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-cluster-")))
        say("starting PostgreSQL, object storage, OpenSearch and a SPARQL server")
        services = opened.enter_context(Services(has_standbys=given.fault == "failover"))
        web = opened.enter_context(served(folder / "web", plan))
        running = opened.enter_context(cluster(services, web, folder))
        begin(running, given.nodes, given.fault, opened)
        if given.exit or given.fault:
            return judged(running, given.fault, given.json, random.Random(given.seed))
        link = running.search_page()
        say(f"the cluster: {running.address}\nsearch page: {link}  (Ctrl-C ends everything)")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


def begin(running: TestCluster, nodes: int, fault: str | None, opened: ExitStack) -> None:
    """Start the nodes, and give them work."""
    for number in range(nodes):
        is_last = number == nodes - 1
        address = ""
        if fault == "cut-off" and is_last:
            running.last_way = opened.enter_context(Proxy(running.services.database.primary.port))
            address = running.services.address_through(running.last_way)
        if fault == "full-disk" and number == 0:
            disk = running.folder / "n1" / "scratch"
            if not faults.small_disk(disk):
                sys.exit("this fault needs the right to mount a file system")
            opened.callback(faults.unmount, disk)
        serves = ("--roles", "crawl,index,serve", "--port", "0") if number == 0 and fault is None else ()
        running.add(*serves, address=address, clock="+1h" if fault == "clocks" and is_last else "")
    running.seed()


def judged(running: TestCluster, fault: str | None, as_json: bool, draw: random.Random) -> int:
    began_s, wanted = time.monotonic(), running.web.plan.pages
    if fault is not None:
        running.wait_until(lambda: running.waiting()["pages"] >= wanted // 5, f"a fifth of {wanted:,} pages")
        say(f"{fault}, in the middle of the crawl")
        faults.FAULTS[fault](running, draw)
        say(f"{fault}: over")
    running.wait_until_over(look=Progress(running).say)
    wall_s = time.monotonic() - began_s
    outcome = running.outcome()
    errors = outcome.errors(IN_FLIGHT.get(fault or "", 0))
    figures = {
        "fault": fault,
        "nodes": len(running.nodes),
        "pages": outcome.pages,
        "recall": outcome.verdict.recall,
        "facts": outcome.verdict.facts_found,
        "facts_expected": outcome.verdict.facts_expected,
        "acknowledged": outcome.acknowledged,
        "after": len(outcome.fetched_after),
        "lost": len(outcome.lost),
        "twice": len(outcome.twice),
        "early": len(outcome.verdict.politeness_violations),
        "forbidden": len(outcome.verdict.disallowed_fetched),
        "wall_s": round(wall_s, 1),
        "node_cpu_s": running.nodes_cpu_s(),
        "service_cpu_s": running.services.cpu_s(),
    }
    print(json.dumps(figures if as_json else figures | {"errors": errors}, indent=None if as_json else 2), flush=True)
    return 1 if errors else 0


class Progress:
    """Says every ten seconds what is still to be done."""

    def __init__(self, running: TestCluster) -> None:
        self._running, self._next_s = running, time.monotonic()

    def say(self) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + 10
            with suppress(GossamerError):
                say(str(self._running.waiting()))


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
