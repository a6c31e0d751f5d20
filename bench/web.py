"""Writes the benchmark web: static pages for a file server, and a manifest of their facts and URLs.

    python bench/web.py --hosts 120 --pages 100000 --seed 1 --out DIR

A page has 30 kB, 40 links, 370 elements, 5.6 kB of text and 20 facts on average; half of the pages state them in RDFa,
half in JSON-LD that refers to schema.org's context. Their structure follows 38 real pages of 20 to 45 kB
(docs/benchmarks.md). Page 0 of a host is its start page; every page links to the next one, so all can be reached from
the start page, and a few links lead to other hosts. The same numbers give the same bytes.
"""

import argparse
import sys
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SystemClock
from gossamer.demo.pages import (
    At,
    Day,
    Leaf,
    NavLink,
    Node,
    Number,
    PageFrame,
    Plain,
    Statements,
    Syntax,
    Value,
    counts_of,
    framed,
)
from gossamer.demo.words import ENGLISH, LISTS, Draw, new_word, paragraph, person_name

DOMAIN = "bench.test"
PORT = 18642
"""Part of the pages' URLs, so it is fixed when they are written."""
PARAGRAPHS = 4_999
"""A prime: with any stride, a walk through the pool visits no paragraph twice."""
TITLES = 20_011
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
LINKS_INSIDE = 36
LINKS_ACROSS = 2
INLINE = ("em", "strong", "span", "b", "i", "code", "cite")


class Size(NamedTuple):
    hosts: int = 120
    pages: int = 100_000
    seed: int = 1

    def pages_of(self, host: int) -> int:
        return self.pages * (host + 1) // self.hosts - self.pages * host // self.hosts


class Written(NamedTuple):
    html: str
    facts: int


class HostEntry(msgspec.Struct, frozen=True):
    name: str
    start: str
    pages: int
    facts: int
    size: int
    """Bytes of all its pages together."""
    paths: list[str]
    facts_per_page: list[int]


class BenchManifest(msgspec.Struct, frozen=True):
    seed: int
    pages: int
    facts: int
    size: int
    hosts: list[HostEntry]

    @property
    def urls(self) -> Iterator[str]:
        for host in self.hosts:
            for path in host.paths:
                yield f"http://{host.name}:{PORT}{path}"


def host_name(host: int) -> str:
    return f"h{host:03d}.{DOMAIN}"


def origin_of(host: int) -> str:
    """Without a scheme: the same pages are served with and without TLS, on the same port."""
    return f"//{host_name(host)}:{PORT}"


def path_of(number: int) -> str:
    return f"/p/{number}.html" if number else "/"


@lru_cache(maxsize=2)
def paragraph_pool(seed: int) -> tuple[str, ...]:
    """Paragraphs with inline elements, as real ones have."""
    draw = Draw(seed, "bench paragraphs")
    return tuple(_marked(draw, paragraph(draw, seed, "en", 2, 7)) for _ in range(PARAGRAPHS))


@lru_cache(maxsize=2)
def title_pool(seed: int) -> tuple[str, ...]:
    draw = Draw(seed, "bench titles")
    return tuple(
        f"{draw.one(ENGLISH['adj']).capitalize()} {draw.one(ENGLISH['noun'])} of {new_word(draw)}"
        for _ in range(TITLES)
    )


def title_of(size: Size, host: int, number: int) -> str:
    return title_pool(size.seed)[(host * 7_919 + number * 31) % TITLES]


def statements_of(size: Size, host: int, number: int, draw: Draw) -> Statements:
    """An article with author and publisher: 20 facts on average, RDFa's usesVocabulary included."""
    is_rdfa = number % 2 == 0
    title = title_of(size, host, number)
    origin = origin_of(host)
    author = Node("Person", (("name", Plain(person_name(draw))), ("url", At(f"{origin}{path_of(draw.below(9))}"))))
    house = Node("Organization", (("name", Plain(f"The {host_name(host)} house")), ("url", At(f"{origin}/"))))
    keywords = draw.some(ENGLISH["noun"], draw.between(0, 4) + (not is_rdfa))
    stated: tuple[tuple[str, Value], ...] = (
        ("name", Plain(title)),
        ("headline", Plain(f"{title}, {draw.between(1, 99)}")),
        (
            "description",
            Plain(f"About {draw.one(ENGLISH['noun'])} and {draw.one(ENGLISH['noun'])} in {draw.one(LISTS['towns'])}."),
        ),
        ("datePublished", Day(f"20{draw.between(10, 25)}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}")),
        ("dateModified", Day(f"2025-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}")),
        ("author", author),
        ("publisher", house),
        ("image", At(f"{origin}/images/{number}.svg")),
        ("wordCount", Number(draw.between(300, 5000))),
        ("articleSection", Plain(draw.one(LISTS["topics"]))),
        *(("keywords", Plain(word)) for word in keywords),
    )
    syntax = Syntax.RDFA if is_rdfa else Syntax.JSONLD
    return Statements(((syntax, Node("Article", stated, f"{origin}{path_of(number)}#it")),))


def page(size: Size, host: int, number: int) -> Written:
    draw = Draw(size.seed, "bench", host, number)
    statements = statements_of(size, host, number, draw)
    pages = size.pages_of(host)
    inside = [number + 1] + [draw.below(pages) for _ in range(LINKS_INSIDE)]
    links: list[NavLink] = [(path_of(each % pages), title_of(size, host, each % pages)) for each in inside]
    for _ in range(LINKS_ACROSS):
        there = draw.below(size.hosts)
        each = draw.below(size.pages_of(there))
        links.append((f"{origin_of(there)}{path_of(each)}", title_of(size, there, each)))
    frame = PageFrame(f"Host {host}", "A host of the benchmark web", links[:8], links[8:28], links[28:])
    leaf = Leaf(title_of(size, host, number), "en", _body(size.seed, draw), statements)
    url = f"http:{origin_of(host)}{path_of(number)}"
    return Written(framed(leaf, frame), counts_of(statements, url, "en").facts)


def _body(seed: int, draw: Draw) -> str:
    pool, at, stride = paragraph_pool(seed), draw.below(PARAGRAPHS), 1 + draw.below(PARAGRAPHS - 1)
    text = [pool[(at + step * stride) % PARAGRAPHS] for step in range(draw.between(5, 13))]
    text.insert(len(text) // 2, f"<h2>Names</h2><p>{', '.join(new_word(draw) for _ in range(12))}.</p>")
    cells = "".join(
        f"<tr><th>{draw.one(LISTS['towns'])}</th><td>{draw.below(9999)}</td><td>{draw.below(99)} %</td></tr>"
        for _ in range(12)
    )
    fittings = "\n".join(_fitting(draw, place) for place in range(draw.between(16, 48)))
    return "\n".join(text) + f"\n<table><tbody>{cells}</tbody></table>\n{fittings}\n{_state(draw)}"


def _fitting(draw: Draw, place: int) -> str:
    """What most of a real page consists of: wrappers, classes and picture sets without content."""
    number = draw.below(99_999)
    return (
        f'<div class="layout__cell layout__cell--span-4 js-observe" data-module="teaser" data-track="t-{number}" '
        f'data-position="{place}"><figure class="media media--16-9"><picture>'
        f'<source media="(min-width: 48em)" sizes="(min-width: 64em) 33vw, 50vw" type="image/webp" '
        f'srcset="/images/{number}-1200.webp 1200w, /images/{number}-800.webp 800w, /images/{number}-400.webp 400w, '
        f'/images/{number}-200.webp 200w"><img class="media__image" loading="lazy" decoding="async" width="400" '
        f'height="225" src="/images/{number}-400.jpg" alt=""></picture></figure></div>'
    )


def _state(draw: Draw) -> str:
    """An inline script with application state, as such pages have."""
    rows = ",".join(f'{{"id":{draw.below(99_999)},"seen":false,"rank":0.{draw.below(999)}}}' for _ in range(60))
    return f'<script>window.__state={{"teasers":[{rows}],"locale":"en","version":"4.{draw.below(99)}"}};</script>'


def _marked(draw: Draw, text: str) -> str:
    """Some words in inline elements, and sometimes a heading before the text."""
    parts = text.split(" ")
    for place in draw.some(range(len(parts)), draw.between(1, 2)):
        tag = draw.one(INLINE)
        parts[place] = f"<{tag}>{parts[place]}</{tag}>"
    heading = f"<h3>{escape(draw.one(LISTS['topics']))}</h3>\n" if draw.happens(0.15) else ""
    return f"{heading}<p>{' '.join(parts)}</p>"


def write_web(size: Size, out: Path) -> BenchManifest:
    """Writes `out`/<host>/..., manifest.json and urls.txt, over an existing folder."""
    hosts = [_write_host(size, host, out) for host in range(size.hosts)]
    made = BenchManifest(
        size.seed, sum(h.pages for h in hosts), sum(h.facts for h in hosts), sum(h.size for h in hosts), hosts
    )
    (out / "manifest.json").write_bytes(msgspec.json.encode(made))
    (out / "urls.txt").write_text("".join(f"{url}\n" for url in made.urls))
    return made


def _write_host(size: Size, host: int, out: Path) -> HostEntry:
    name = host_name(host)
    root = out / name
    (root / "p").mkdir(parents=True, exist_ok=True)
    (root / "robots.txt").write_bytes(ROBOTS)
    facts, total = [], 0
    for number in range(size.pages_of(host)):
        written = page(size, host, number)
        body = written.html.encode()
        (root / (f"p/{number}.html" if number else "index.html")).write_bytes(body)
        facts.append(written.facts)
        total += len(body)
    paths = [path_of(number) for number in range(len(facts))]
    return HostEntry(name, f"http:{origin_of(host)}/", len(facts), sum(facts), total, paths, facts)


def read_manifest(out: Path) -> BenchManifest:
    return msgspec.json.decode((out / "manifest.json").read_bytes(), type=BenchManifest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--hosts", type=int, default=Size().hosts)
    parser.add_argument("--pages", type=int, default=Size().pages)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if not 1 <= given.hosts <= given.pages:
        sys.exit("a benchmark web has at least one host, and one page per host")
    clock = SystemClock()
    start_s = clock.elapsed_s()
    made = write_web(Size(given.hosts, given.pages, given.seed), given.out)
    print(
        f"{made.pages} pages, {made.facts} facts, {made.size / 1e6:.0f} MB on {len(made.hosts)} hosts "
        f"in {clock.elapsed_s() - start_s:.0f} s"
    )


if __name__ == "__main__":
    main()
