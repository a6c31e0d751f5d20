"""The `gossamer` command line, with a watch on its event loop: `python -m tests.attack.child ROOT crawl ...`.

Where there is no network namespace, the dialer accepts the plan's IP addresses and refuses all others.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from traceback import extract_stack

import uvloop
from tests.attack.web import KINDS, PORTS
from tests.hostile.harness import Stalls

from gossamer.base.environment import Endpoint, Network, Outside
from gossamer.cli import main as cli
from gossamer.cli.crawl import crawl
from gossamer.fetch.dns import DnsResolver

WATCHED = "watched.json"
EVERY_S, LATE_S = 0.02, 0.06
run = uvloop.run


class PlannedDialer:
    def __init__(self, ports: dict[str, dict[str, int]]) -> None:
        self._ports = ports
        self.refused: list[str] = []

    def endpoint(self, address: str, port: int) -> Endpoint:
        found = self._ports.get(address, {}).get(str(port))
        if found is None:
            self.refused.append(f"{address} port {port}")
            raise ConnectionRefusedError(f"{address} port {port} is not in the plan")
        return Endpoint("127.0.0.1", found)


class Stack:
    """The stack of the event loop during its longest stall."""

    def __init__(self) -> None:
        self._loop = threading.get_ident()
        self.deepest: list[str] = []
        self._longest_s = 0.0
        self.beat_s = time.monotonic()

    async def beat(self) -> None:
        while True:
            self.beat_s = time.monotonic()
            await asyncio.sleep(EVERY_S)

    def watch(self) -> None:
        while True:
            time.sleep(EVERY_S)
            late_s = time.monotonic() - self.beat_s - EVERY_S
            if late_s > max(self._longest_s, LATE_S):
                self._longest_s = late_s
                frame = sys._current_frames().get(self._loop)
                self.deepest = [f"{one.name} ({Path(one.filename).name}:{one.lineno})" for one in extract_stack(frame)][
                    -8:
                ]


def main(root: Path, arguments: list[str], is_inside: bool) -> None:
    stalls, dialer = Stalls(), PlannedDialer({})
    stack = Stack()
    threading.Thread(target=stack.watch, daemon=True).start()
    if not is_inside:
        ports = {kind: json.loads((root / PORTS.format(kind)).read_text()) for kind in KINDS}
        dialer = PlannedDialer(ports["hostile"] | ports["honest"])
        servers = (f"127.0.0.1:{ports['names']['names']['port']}",)

        def planned(outside: Outside) -> Network:
            return Network(DnsResolver(outside.clock, servers), dialer)

        crawl.real_network = planned  # type: ignore[attr-defined]

    async def watched(coroutine: Coroutine[object, object, object]) -> object:
        watching = [asyncio.ensure_future(stalls.watch()), asyncio.ensure_future(stack.beat())]
        try:
            return await coroutine
        finally:
            for task in watching:
                task.cancel()
            await asyncio.wait(watching)

    uvloop.run = lambda coroutine: run(watched(coroutine))
    sys.argv = ["gossamer", *arguments]
    try:
        cli.main()
    finally:
        (root / WATCHED).write_text(
            json.dumps({"stall_s": stalls.longest_s, "refused": dialer.refused, "stack": stack.deepest})
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3:], sys.argv[2] == "inside")
