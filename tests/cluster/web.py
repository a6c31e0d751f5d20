"""The demonstration web as a process of its own, and its access log: what a cluster crawls in tests."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gossamer.base.environment import AddressPlan
from gossamer.base.files import DiskFiles
from gossamer.demo.server import Logged, read_log
from gossamer.demo.web import DemoWeb, address_plan

REPOSITORY = Path(__file__).parents[2]
START_S = 120.0


@dataclass(frozen=True, slots=True)
class WebPlan:
    """The numbers that make a web, in a file next to its log, for the crawlers of all nodes."""

    hosts: int = 12
    pages: int = 600
    seed: int = 1
    profile: str = "quick"
    port: int = 0

    @property
    def web(self) -> DemoWeb:
        return DemoWeb(self.seed, self.hosts, self.pages, self.profile)

    def addresses(self) -> AddressPlan:
        return address_plan(self.web, self.port)


class ServedWeb:
    def __init__(self, folder: Path, plan: WebPlan) -> None:
        self.folder, self.plan = folder, plan

    @property
    def file(self) -> Path:
        return self.folder / "web.json"

    def hits(self) -> list[Logged]:
        return read_log(DiskFiles(), self.folder / "access.log")


def plan_in(file: Path) -> WebPlan:
    return WebPlan(**json.loads(file.read_text()))


@contextmanager
def served(folder: Path, plan: WebPlan) -> Iterator[ServedWeb]:
    folder.mkdir(parents=True, exist_ok=True)
    port_file = folder / "port"
    command = [sys.executable, "-m", "gossamer.demo.server", "--log", str(folder / "access.log")]
    command += ["--port-file", str(port_file), "--hosts", str(plan.hosts), "--pages", str(plan.pages)]
    command += ["--seed", str(plan.seed), "--profile", plan.profile]
    server = subprocess.Popen(command, cwd=REPOSITORY)
    try:
        give_up_s = time.monotonic() + START_S
        while not port_file.is_file():
            assert server.poll() is None and time.monotonic() < give_up_s, "the demonstration web did not start"
            time.sleep(0.02)
        found = ServedWeb(folder, WebPlan(**(asdict(plan) | {"port": int(port_file.read_text())})))
        found.file.write_text(json.dumps(asdict(found.plan)))
        yield found
    finally:
        server.terminate()
        server.wait(30)
