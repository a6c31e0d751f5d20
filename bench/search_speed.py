"""How long a search takes: all facets, entities and snippets, alone and from several threads, while pages come in.

    python -m bench.search_speed --pages 100000 [--keep DIR] [--threads 1 2 4] [--seconds 10] [--quiet-index]

Pages of Zipf-distributed coined words, 600 on average, with types, properties, things and links, go straight to the
index and the links. Questions are drawn from the pages' own words, so frequent words are asked for often.
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
from itertools import accumulate
from pathlib import Path

from gossamer.clock import SECOND, SystemClock
from gossamer.files import DiskFiles
from gossamer.index.facets import FACETS
from gossamer.index.searcher import Searcher
from gossamer.index.writer import IndexWriter
from gossamer.links.reader import LinksReader
from gossamer.links.store import Links
from gossamer.search.find import Search
from gossamer.search.query import parse
from gossamer.values.link import Link
from gossamer.values.page import Page, Reading, Thing
from gossamer.values.tell import silent
from gossamer.values.url import Url

WORDS = 150_000
HOSTS = 500
SCHEMA = "http://schema.org/"
TYPES = ("Person", "Article", "Product", "Organization", "Event", "Recipe", "Place", "Book", "Movie", "NewsArticle")
PROPERTIES = tuple(
    f"{SCHEMA}{name}" for name in ["name", "author", "image", "url", "price", "offers", "startDate", "about", "sameAs"]
)
SYLLABLES = tuple(
    c + v
    for c in ["b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "st", "tr", "sh"]
    for v in ["a", "e", "i", "o", "u", "ou"]
)
LANGUAGES = ("en", "en", "en", "de", "fr", "")
PER_SECOND = 50
COMMIT_S = 1.5
START = 1_790_000_000 * SECOND


class Writing:
    """Makes pages; the same number gives the same page."""

    def __init__(self) -> None:
        draw = random.Random(1)
        coined = dict.fromkeys("".join(draw.choices(SYLLABLES, k=draw.randint(2, 5))) for _ in range(2 * WORDS))
        self.words = list(coined)[:WORDS]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def some(self, draw: random.Random, count: int) -> list[str]:
        return draw.choices(self.words, cum_weights=self.weights, k=count)

    def reading(self, number: int) -> Reading:
        draw = random.Random(number)
        host = f"h{draw.randrange(HOSTS)}.speed.test"
        words = self.some(draw, draw.randint(100, 1100))
        title = " ".join(self.some(draw, 5))
        kinds = tuple(SCHEMA + kind for kind in draw.sample(TYPES, draw.randint(1, 3)))
        things = tuple(Thing(f"http://{host}/#{n}", " ".join(self.some(draw, 2)), kinds[:1]) for n in range(3))
        inside = [Link(Url(f"http://{host}/p/{draw.randrange(1000)}"), " ".join(words[n : n + 3])) for n in range(20)]
        across = [Link(Url(f"http://h{n}.speed.test/p/{number}"), " ".join(words[-n - 3 :][:3])) for n in range(2)]
        page = Page(
            Url(f"http://{host}/p/{number}"),
            "text/html",
            "utf-8",
            title=title,
            headings=tuple(" ".join(words[at : at + 4]) for at in (0, 50)),
            content=" ".join(words),
            rest="home about contact",
            language=draw.choice(LANGUAGES),
            links=(*inside, *across),
            exact=number.to_bytes(32, "little"),
        )
        at = START + number * 200 * SECOND
        properties = tuple(draw.sample(PROPERTIES, 5))
        return Reading(number, at, page, b"", 30, kinds, ("json-ld",), (), b"", properties, things)

    def question(self, draw: random.Random) -> str:
        words = [draw.choice(self.words[: 2_000 if draw.random() < 0.7 else WORDS]) for _ in range(draw.randint(1, 3))]
        extra = draw.random()
        if extra < 0.2:
            words.append(f"type:schema:{draw.choice(TYPES)}")
        elif extra < 0.3:
            words.append(f"lang:{draw.choice(LANGUAGES[:5])}")
        elif extra < 0.35:
            words[0] = f"{words[0][:4]}*"
        return " ".join(words)


def build(root: Path, pages: int) -> None:
    writing, index, links = (
        Writing(),
        IndexWriter(root / "index", DiskFiles(), silent),
        Links(root / "links.db", DiskFiles(), silent),
    )
    index.open()
    links.open()
    began = time.perf_counter()
    for start in range(0, pages, 500):
        readings = [writing.reading(number) for number in range(start, min(pages, start + 500))]
        for view in (index, links):
            view.replace(readings)
        if start % 5_000 == 0:
            index.commit(b"%d" % start)
            links.commit(b"%d" % start)
    index.commit(b"end")
    links.commit(b"end")
    index.close()
    links.close()
    print(f"{pages:,} pages built in {time.perf_counter() - began:.0f} s")


def write_on(root: Path) -> None:
    """A crawl at 50 pages a second, as the index sees it; until killed."""
    writing, index = Writing(), IndexWriter(root / "index", DiskFiles(), silent)
    index.open()
    number = 10_000_000
    while True:
        began = time.perf_counter()
        some = range(number, number + int(PER_SECOND * COMMIT_S))
        index.replace([writing.reading(one) for one in some])
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
    writing = Writing()
    until = time.perf_counter() + seconds

    def ask(number: int) -> list[float]:
        draw, took = random.Random(1_000 + number), []
        while time.perf_counter() < until:
            question = parse(writing.question(draw))
            began = time.perf_counter()
            search.find(question, FACETS)
            took.append(1000 * (time.perf_counter() - began))
        return took

    with ThreadPoolExecutor(threads) as pool:
        took = sorted(one for some in pool.map(ask, range(threads)) for one in some)
    at = {share: took[min(len(took) - 1, int(share * len(took)))] for share in (0.5, 0.9, 0.99)}
    print(
        f"{threads} threads: {len(took) / seconds:7.1f} searches/s   p50 {at[0.5]:6.1f} ms   p90 {at[0.9]:6.1f} ms"
        f"   p99 {at[0.99]:6.1f} ms   worst {took[-1]:6.1f} ms"
    )


def measure_suggestions(search: Search) -> None:
    writing, draw, took = Writing(), random.Random(5), []
    for _ in range(200):
        word = writing.some(draw, 1)[0]
        began = time.perf_counter()
        search.suggest(word[: draw.randint(2, 5)])
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
    asked = parser.parse_args()
    if asked.write_on:
        write_on(asked.write_on)
    with tempfile.TemporaryDirectory() as scratch:
        root = asked.keep or Path(scratch)
        if not (root / "index").is_dir():
            root.mkdir(parents=True, exist_ok=True)
            build(root, asked.pages)
        search = Search(Searcher(root / "index"), LinksReader(root / "links.db"), SystemClock())
        search.find(parse("nothing"))
        with incoming(root, not asked.quiet_index):
            for threads in asked.threads:
                measure(search, threads, asked.seconds)
            measure_suggestions(search)
        search.close()


if __name__ == "__main__":
    main()
