"""A small program in the place of a role: `python -m tests.cluster.role LOG`. It writes when it starts and stops.

A file `LOG.dies` makes it end with exit code 7 as soon as it has started.
"""

import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    log = Path(sys.argv[1])

    def write(words: str) -> None:
        with log.open("a") as lines:
            lines.write(f"{words} {os.getpid()}\n")

    def stop(*_: object) -> None:
        write("stopped")
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    write("started")
    if log.with_suffix(".dies").exists():
        print("nothing works", file=sys.stderr)
        sys.exit(7)
    while True:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
