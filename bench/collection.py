"""A collection of any size, without a crawl: pages of invented words with types, properties, entities, links and facts.

    python -m bench.collection --pages 100000 DIR

Words are Zipf-distributed, 600 per page on average; with 30 facts per page, 100,000 pages hold three million quads. The
pages are written directly to the views, the facts by a second process. The same number gives the same page.
"""

import argparse
import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import Database
from gossamer.values.link import Link
from gossamer.values.messages import PageFacts
from gossamer.values.page import NamedEntity, Page, Reading
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.store import Graph
from gossamer.views.links.store import LinksWriter
from gossamer.views.words.writer import IndexWriter

WORDS = 150_000
HOSTS = 500
FACTS = 30
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
START = 1_790_000_000 * SECOND
AT_ONCE = 500
COMMIT_EVERY = 5_000


class PageMaker:
    """Makes pages, and queries from the same words, in which frequent words are frequent too."""

    def __init__(self) -> None:
        draw = random.Random(1)
        invented = dict.fromkeys("".join(draw.choices(SYLLABLES, k=draw.randint(2, 5))) for _ in range(2 * WORDS))
        self.words = list(invented)[:WORDS]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def some(self, draw: random.Random, count: int) -> list[str]:
        return draw.choices(self.words, cum_weights=self.weights, k=count)

    def reading(self, number: int) -> Reading:
        draw = random.Random(number)
        url = address(number)
        host = url.hostname
        words = self.some(draw, draw.randint(100, 1100))
        title = " ".join(self.some(draw, 5))
        kinds = tuple(SCHEMA + kind for kind in draw.sample(TYPES, draw.randint(1, 3)))
        entities = tuple(NamedEntity(f"http://{host}/#{n}", " ".join(self.some(draw, 2)), kinds[:1]) for n in range(3))
        inside = [Link(Url(f"http://{host}/p/{draw.randrange(1000)}"), " ".join(words[n : n + 3])) for n in range(20)]
        across = [Link(Url(f"http://h{n}.speed.test/p/{number}"), " ".join(words[-n - 3 :][:3])) for n in range(2)]
        page = Page(
            url,
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
        properties = tuple(draw.sample(PROPERTIES, 5))
        return Reading(number, fetched_at(number), page, b"", FACTS, kinds, ("json-ld",), (), b"", properties, entities)

    def query(self, draw: random.Random) -> str:
        words = [draw.choice(self.words[: 2_000 if draw.random() < 0.7 else WORDS]) for _ in range(draw.randint(1, 3))]
        extra = draw.random()
        if extra < 0.2:
            words.append(f"type:schema:{draw.choice(TYPES)}")
        elif extra < 0.3:
            words.append(f"lang:{draw.choice(LANGUAGES[:5])}")
        elif extra < 0.35:
            words[0] = f"{words[0][:4]}*"
        return " ".join(words)

    def prefix(self, draw: random.Random) -> str:
        """The first letters of a word, as someone has typed them."""
        return self.some(draw, 1)[0][: draw.randint(2, 5)]


def address(number: int) -> Url:
    return Url(f"http://h{random.Random(number).randrange(HOSTS)}.speed.test/p/{number}")


def fetched_at(number: int) -> int:
    return START + number * 200 * SECOND


def facts(number: int) -> PageFacts:
    """About one entity of the page, which other pages mention too."""
    url, draw = address(number), random.Random(-number - 1)
    entity = f"http://{url.hostname}/#{draw.randrange(3)}"
    lines = [f"<{entity}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SCHEMA}{draw.choice(TYPES)}> ."]
    for each in range(1, FACTS):
        value = f"<{url.text}#{each}>" if each % 3 == 0 else f'"{draw.randrange(1_000_000)}"'
        lines.append(f"<{entity}> <{draw.choice(PROPERTIES)}> {value} .")
    return PageFacts(url, "\n".join(lines).encode(), number, fetched_at(number))


def build(root: Path, pages: int, has_facts: bool = True) -> None:
    """REQUIRES: `root` is empty or missing. The views have no position: a crawl can continue in the same directory."""
    root.mkdir(parents=True, exist_ok=True)
    directory, began = Directory(root), time.perf_counter()
    asyncio.run(make_state(directory))
    children = [subprocess.Popen(command_for("facts", root, pages))] if has_facts else []
    build_words(directory, pages)
    if any(child.wait() for child in children):
        sys.exit("the facts could not be built")
    print(f"{pages:,} pages built in {time.perf_counter() - began:.0f} s", flush=True)


def command_for(part: str, root: Path, pages: int) -> list[str]:
    return [sys.executable, "-m", "bench.collection", "--part", part, "--pages", str(pages), str(root)]


async def make_state(directory: Directory) -> None:
    async with Database(directory.state, SystemClock(), silent):
        pass


def build_words(directory: Directory, pages: int) -> None:
    maker = PageMaker()
    index = IndexWriter(directory.index, DiskFiles(), silent)
    links = LinksWriter(directory.links, DiskFiles(), silent)
    index.open()
    links.open()
    for start, numbers in groups(pages, AT_ONCE):
        readings = [maker.reading(number) for number in numbers]
        index.replace(readings)
        links.replace(readings)
        if start % COMMIT_EVERY == 0:
            index.commit()
            links.commit(b"%d" % start)
    index.commit()
    links.commit(b"")
    index.close()
    links.close()


def build_facts(directory: Directory, pages: int) -> None:
    files, clock = DiskFiles(), SystemClock()
    with Graph(directory.graph, files, clock, silent) as graph:
        for _, numbers in groups(pages, COMMIT_EVERY):
            graph.replace([facts(number) for number in numbers])
        graph.sync()
        Checkpoints(directory.checkpoints, files, clock, silent).make(graph)


def groups(pages: int, size: int) -> Iterator[tuple[int, range]]:
    for start in range(0, pages, size):
        yield start, range(start, min(pages, start + size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--part", choices=["all", "facts"], default="all", help=argparse.SUPPRESS)
    parser.add_argument("root", type=Path)
    given = parser.parse_args()
    if given.part == "facts":
        build_facts(Directory(given.root), given.pages)
    else:
        build(given.root, given.pages)


if __name__ == "__main__":
    main()
