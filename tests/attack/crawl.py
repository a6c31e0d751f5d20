"""One crawl of an attack: the servers, the real `gossamer crawl`, and all measurements of it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal
from urllib.parse import urlsplit

from tests.attack.child import WATCHED
from tests.attack.namespace import Packets
from tests.attack.plan import GATE, HTTP, HTTPS, Plan
from tests.attack.processes import Tree
from tests.attack.web import AUTHORITY, KINDS, PORTS, SENT
from tests.hostile.behaviours.connections import POISON
from warcio.archiveiterator import ArchiveIterator

from gossamer.demo.verdict import manifest_of

REPOSITORY = Path(__file__).parents[2]
SETTINGS = """
contact = "https://attack.test/"
[crawl]
scope = "any"
[politeness]
delay_s = {delay_s}
times_took = 1.0
apart_s = 0.05
robots_retry_s = 2.0
robots_tries = 2
[retry]
base_s = 1.0
cap_s = 4.0
tries = 2
[fetch]
timeout_s = {timeout_s}
tls_authorities = "{authority}"
"""
"""Gaps and retries are short, so that the crawl ends; every other limit is the default."""
START_S, STOP_S = 120.0, 120.0


@dataclass
class Crawled:
    """The measurements of one crawl."""

    honest: dict[str, str] = field(default_factory=dict)
    """The last outcome of each expected honest page."""
    expected: frozenset[str] = frozenset()
    ends: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """(URL, outcome) of every fetch from any other host, by host."""
    events: dict[str, int] = field(default_factory=dict)
    honest_s: float = 0.0
    """From the first honest page to the last."""
    seconds: float = 0.0
    exit_code: int | None = None
    tree: Tree | None = None
    outside: dict[str, int] = field(default_factory=dict)
    """Packets or connections to IP addresses outside the plan."""
    connections: int = 0
    dropped: int = 0
    stall_s: float = 0.0
    stalled_in: list[str] = field(default_factory=list)
    sent: dict[str, int] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)
    """Files written outside the data directory."""
    poisoned: list[str] = field(default_factory=list)
    """URLs under which a response without a request was stored (H14)."""
    errors: str = ""
    """The output on stderr."""

    @property
    def missing(self) -> list[str]:
        return sorted(url for url in self.expected if self.honest.get(url) not in ("fetched", "unchanged"))

    @property
    def speed(self) -> float:
        """Honest pages a second, until all were fetched."""
        return (len(self.expected) - len(self.missing)) / self.honest_s if self.honest_s else 0.0


@dataclass(frozen=True)
class CrawlSpec:
    """What to crawl, how, and for how long."""

    plan: Plan
    is_attacked: bool
    is_inside: bool
    delay_s: float
    most_s: float
    """The crawl is stopped after this time at the latest."""
    until: Literal["honest", "outcomes", "end"]
    """The crawl is stopped when the honest pages are complete, when every behaviour has an outcome too, or only after
    `most_s`."""
    timeout_s: float = 30.0
    """The longest fetch."""


def crawled(root: Path, spec: CrawlSpec) -> Crawled:
    """REQUIRES: `root` is an empty directory."""
    for name in ("home", "tmp", "cwd"):
        (root / name).mkdir(parents=True)
    result = Crawled(expected=expected_of(spec.plan))
    with contextlib.ExitStack() as running:
        for kind in KINDS:
            running.enter_context(serving(root, kind, spec))
        packets = running.enter_context(Packets()) if spec.is_inside else None
        (root / "gossamer.toml").write_text(settings_of(root, spec))
        crawl(root, spec, result)
    if packets is not None:
        result.outside = packets.outside(spec.plan.public, (HTTP, HTTPS))
        result.connections, result.dropped = sum(packets.seen.values()), packets.dropped
    if (root / SENT).exists():
        result.sent = json.loads((root / SENT).read_text())["sent"]
    with contextlib.suppress(FileNotFoundError):
        watched = json.loads((root / WATCHED).read_text())
        result.stall_s, result.stalled_in = watched["stall_s"], watched["stack"]
        result.outside |= dict.fromkeys(watched["refused"], 1)
    result.strays = [
        str(path.relative_to(root)) for name in ("home", "tmp", "cwd") for path in (root / name).rglob("*")
    ]
    result.poisoned = poisoned_in(root / "data")
    return result


def poisoned_in(data: Path) -> list[str]:
    found = []
    for volume in (data / "archive").glob("*.warc.gz"):
        with volume.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response" and POISON in record.raw_stream.read(1024):
                    found.append(str(record.rec_headers.get_header("WARC-Target-URI")))
    return found


def settings_of(root: Path, spec: CrawlSpec) -> str:
    return SETTINGS.format(delay_s=spec.delay_s, timeout_s=spec.timeout_s, authority=root / AUTHORITY)


def expected_of(plan: Plan) -> frozenset[str]:
    hosts = [host for host in manifest_of(plan.web).hosts if host.name in plan.honest]
    return frozenset(page.url for host in hosts for page in host.pages if page.counts)


def crawl(root: Path, spec: CrawlSpec, result: Crawled) -> None:
    seeds = [*spec.plan.web.seeds, *([f"http://{GATE}/"] if spec.is_attacked else [])]
    place = "inside" if spec.is_inside else "outside"
    command = [sys.executable, "-m", "tests.attack.child", str(root), place, "crawl", *seeds, "--json"]
    command += ["--dir", str(root / "data"), "--config", str(root / "gossamer.toml")]
    started = time.monotonic()
    with (root / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            command, cwd=root / "cwd", env=environment(root), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        listening = threading.Thread(target=read_events, args=(process.stdout, result, spec.plan), daemon=True)
        listening.start()
        with Tree(process.pid) as result.tree:
            try:
                while process.poll() is None and not is_enough(result, spec, time.monotonic() - started):
                    time.sleep(0.1)
            finally:
                result.exit_code = stopped(process)
        listening.join()
    result.seconds = time.monotonic() - started
    result.errors = (root / "errors.txt").read_text()[-4000:]


def is_enough(result: Crawled, spec: CrawlSpec, seconds: float) -> bool:
    if seconds > spec.most_s:
        return True
    if spec.until == "end" or len(result.honest) < len(result.expected) or result.missing:
        return False
    return spec.until == "honest" or all(one.host in result.ends for one in spec.plan.behaviours)


def stopped(process: "subprocess.Popen[str]") -> int | None:
    """The exit code; None: it did not obey SIGTERM, and was killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def read_events(stream: IO[str], result: Crawled, plan: Plan) -> None:
    honest, first_s = frozenset(plan.honest), 0.0
    for line in stream:
        entry = json.loads(line)
        event = str(entry.get("event"))
        result.events[event] = result.events.get(event, 0) + 1
        if event != "visit.settled":
            continue
        url, outcome = str(entry["url"]), str(entry["outcome"])
        host = urlsplit(url).hostname or ""
        if host not in honest:
            result.ends.setdefault(host, []).append((url, outcome))
        elif url in result.expected:
            if url not in result.honest:
                first_s = first_s or time.monotonic()
                result.honest_s = time.monotonic() - first_s
            result.honest[url] = outcome


def environment(root: Path) -> dict[str, str]:
    own = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    paths = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])
    return (
        {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        | own
        | {"PYTHONPATH": paths}
    )


@contextlib.contextmanager
def serving(root: Path, kind: str, spec: CrawlSpec) -> Iterator[None]:
    plan = spec.plan
    numbers = [str(number) for number in (plan.hosts, plan.pages, plan.step)]
    command = [sys.executable, "-m", "tests.attack.web", kind, str(root), *numbers]
    server = subprocess.Popen([*command, *(["inside"] if spec.is_inside else [])], cwd=REPOSITORY)
    try:
        until = time.monotonic() + START_S
        while not (root / PORTS.format(kind)).exists():
            assert server.poll() is None and time.monotonic() < until, f"the {kind} server did not start"
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait()
