"""The crawler of a node in tests: as a node starts it, but every name of the demonstration web leads to loopback.

`python -m tests.cluster.crawler WEB_FILE SCRATCH`; its acknowledgements go to SCRATCH/acknowledged, a JSON line each,
with `read_at`: what a line acknowledges was safe before that moment. In a directory that is no cluster's it crawls the
whole web alone, for comparison.
"""

import asyncio
import sys
import time
from pathlib import Path

import uvloop
from tests.cluster.web import plan_in

from gossamer.base.environment import Network, real_outside
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.progress import JsonLines
from gossamer.store.directory import Directory
from gossamer.store.options import config_of
from gossamer.store.state import is_cluster
from gossamer.values.url import Url


class Acknowledging(JsonLines):
    """Also prints what `gossamer crawl --json` prints: the node reads that."""

    def heard(self, event: str, facts: dict[str, object]) -> None:
        super().heard(event, facts | {"read_at": time.time_ns() // 1000})
        self.printed.heard(event, facts)

    printed = JsonLines(sys.stdout)


def main() -> None:
    web_file, root = Path(sys.argv[1]), Path(sys.argv[2])
    web, directory = plan_in(web_file), Directory(root)
    plan = web.addresses()
    seeds = [] if is_cluster(directory) else [Url(text) for text in web.web.seeds]
    with (root / "acknowledged").open("a") as out:
        crawling = crawl_to_end(
            directory,
            config_of(root).settings,
            seeds,
            Network(plan, plan),
            real_outside(),
            Acknowledging(out),
            stop=asyncio.Event(),
            signals=True,
        )
        uvloop.run(crawling)


if __name__ == "__main__":
    main()
