"""How long a search takes, with all facets, entities and snippets, on one thread and on several, while pages come in.

    python -m bench.search_speed --pages 100000 [--keep DIR] [--threads 1 2 4] [--seconds 10] [--quiet-index]

The collection is that of bench.collection, without its facts. Queries are drawn from the words of the pages, so
frequent words are searched for often.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.collection import PageMaker, build
from gossamer.base.clock import SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.search.find import Search
from gossamer.search.query import parse
from gossamer.views.links.reader import LinksReader
from gossamer.views.words.facets import FACETS
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

PER_SECOND = 50
COMMIT_S = 1.5


def write_on(root: Path) -> None:
    """Write to the index as a crawl at 50 pages per second does; until killed."""
    maker, index = PageMaker(), IndexWriter(root / "index", DiskFiles(), silent)
    index.open()
    number = 10_000_000
    while True:
        began = time.perf_counter()
        some = range(number, number + int(PER_SECOND * COMMIT_S))
        index.replace([maker.reading(one) for one in some])
        index.commit(b"%d" % number)
        number = some.stop
        time.sleep(max(0.0, COMMIT_S - (time.perf_counter() - began)))


@contextmanager
def incoming(root: Path, is_wanted: bool) -> Iterator[None]:
    if not is_wanted:
        yield
        return
    with subprocess.Popen([sys.executable, "-m", "bench.search_speed", "--write-on", str(root)]) as child:
        try:
            time.sleep(2 * COMMIT_S)
            yield
        finally:
            child.kill()


def measure(search: Search, threads: int, seconds: float) -> None:
    maker = PageMaker()
    until = time.perf_counter() + seconds

    def search_until_end(number: int) -> list[float]:
        draw, took = random.Random(1_000 + number), []
        while time.perf_counter() < until:
            query = parse(maker.query(draw))
            began = time.perf_counter()
            search.find(query, FACETS)
            took.append(1000 * (time.perf_counter() - began))
        return took

    with ThreadPoolExecutor(threads) as pool:
        took = sorted(one for some in pool.map(search_until_end, range(threads)) for one in some)
    at = {share: took[min(len(took) - 1, int(share * len(took)))] for share in (0.5, 0.9, 0.99)}
    print(
        f"{threads} threads: {len(took) / seconds:7.1f} searches/s   p50 {at[0.5]:6.1f} ms   p90 {at[0.9]:6.1f} ms"
        f"   p99 {at[0.99]:6.1f} ms   worst {took[-1]:6.1f} ms"
    )


def measure_suggestions(search: Search) -> None:
    maker, draw, took = PageMaker(), random.Random(5), []
    for _ in range(200):
        prefix = maker.prefix(draw)
        began = time.perf_counter()
        search.suggest(prefix)
        took.append(1000 * (time.perf_counter() - began))
    took.sort()
    print(f"suggestions: p50 {took[100]:.1f} ms, p99 {took[197]:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--keep", type=Path, help="build there, or use what was built there")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--quiet-index", action="store_true", help="nothing is written meanwhile")
    parser.add_argument("--write-on", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write_on:
        write_on(given.write_on)
    with tempfile.TemporaryDirectory() as scratch:
        root = given.keep or Path(scratch)
        if not (root / "index").is_dir():
            build(root, given.pages, has_facts=False)
        search = Search(Searcher(root / "index"), LinksReader(root / "links.db"), SystemClock())
        search.find(parse("nothing"))
        with incoming(root, not given.quiet_index):
            for threads in given.threads:
                measure(search, threads, given.seconds)
            measure_suggestions(search)
        search.close()


if __name__ == "__main__":
    main()
