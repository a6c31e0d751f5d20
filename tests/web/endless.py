"""`gossamer serve` with endless exports and a short time limit for slow clients. It prints its counters for each line
on its standard input."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gossamer.cli import serve as command
from gossamer.collection.exports import Exports
from gossamer.frontier.reports import LastVisit
from gossamer.web.access import connections

IMPATIENT_S = 2.0


def main(root: str) -> None:
    real_app, real_visits, gates = command.make_app, Exports.visits, []

    def make_app(site: Any) -> Any:
        gates.append(real_app(site))
        return gates[0]

    def endless(exports: Exports) -> Iterator[LastVisit]:
        while True:
            yield from real_visits(exports)

    def print_counters() -> None:
        for _ in sys.stdin:
            print("load", *gates[0].load, threading.active_count(), flush=True)

    connections.RATE_S = IMPATIENT_S
    command.make_app, Exports.visits = make_app, endless  # type: ignore[method-assign]
    threading.Thread(target=print_counters, daemon=True).start()
    command.serve(dir=Path(root), port=0)


if __name__ == "__main__":
    main(sys.argv[1])
