"""The content of real pages: the share of it that is found, beside other programs, on the same pages in one run.

    python -m bench.content

Two sets with gold made by people, `article-extraction-benchmark` (the whole text of an article) and `trafilatura-eval`
(strings that must and must not be in the result), and one made by a program and corrected, `mozilla-readability`. Times
are CPU milliseconds a page: of ours the whole reading of the page, with links, facts, language and fingerprints.
"""

import argparse
import gc
import gzip
import json
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gossamer.base.tuning import keep_freed_memory
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.content import content_of, may_have_nosnippet, outlined
from gossamer.parse.html.tree import folded, parse_html, scan_html
from gossamer.reader.reading import read
from gossamer.values.capture import Capture
from gossamer.values.url import Url

HOME = Path(__file__).parents[2] / "shared" / "conformance" / "content"
ARTICLES, STRINGS, READABLE = "article-extraction-benchmark", "trafilatura-eval", "mozilla-readability"
SETS = (ARTICLES, STRINGS, READABLE)
TARGETS = {ARTICLES: 0.970, STRINGS: 0.930}
MOST_MS = 3.5
_WORD = re.compile(r"\w+")
_SHINGLE = 4


class GoldPage(NamedTuple):
    kind: str
    """One of SETS."""
    url: str
    markup: bytes
    """As received."""
    text: str
    """The content; of STRINGS empty."""
    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    @property
    def utf8(self) -> bytes:
        return as_utf8(self.markup, charset_of("text/html", self.markup).encoding)


def pages(home: Path = HOME) -> list[GoldPage]:
    """Raises OSError if the sets are not there."""
    found = []
    gold = json.loads((home / ARTICLES / "ground-truth.json").read_text("utf-8"))
    for name, said in sorted(gold.items()):
        found.append(
            GoldPage(
                ARTICLES, said["url"], _unpacked(home / ARTICLES / "html" / f"{name}.html.gz"), said["articleBody"]
            )
        )
    gold = json.loads((home / STRINGS / "evaldata.json").read_text("utf-8"))
    for url, said in sorted(gold.items()):
        body = _unpacked(home / STRINGS / "html" / said["file"])
        found.append(
            GoldPage(STRINGS, url, body, "", tuple(map(folded, said["with"])), tuple(map(folded, said["without"])))
        )
    for folder in sorted((home / READABLE).iterdir()):
        expected = _unpacked(folder / "expected.html.gz")
        seen = scan_html(parse_html(expected).tree)
        found_in = outlined(seen, has_unquoted=False)
        text = " ".join([*[block.text for block in found_in.page.blocks], *found_in.rest])
        found.append(GoldPage(READABLE, f"http://{folder.name}.test/", _unpacked(folder / "source.html.gz"), text))
    return found


def _unpacked(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes())


class Counts(NamedTuple):
    right: int
    wrong: int
    missing: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else float(not self.missing)

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missing) if self.right + self.missing else 1.0


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    if not words:
        return Counter()
    return Counter([tuple(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1))])


def compared(page: GoldPage, found: str) -> Counts:
    if page.kind == STRINGS:
        text = folded(found)
        right = sum([one in text for one in page.wanted])
        return Counts(right, sum([one in text for one in page.unwanted]), len(page.wanted) - right)
    gold, ours = _shingles(page.text), _shingles(found)
    right = (gold & ours).total()
    return Counts(right, ours.total() - right, gold.total() - right)


def f1(kind: str, counts: Sequence[Counts]) -> float:
    """As each set defines it: means over pages, or over all strings."""
    if kind == STRINGS:
        every = Counts(*map(sum, zip(*counts, strict=True)))
        precision, recall = every.precision, every.recall
    else:
        precision = sum([one.precision for one in counts]) / len(counts)
        recall = sum([one.recall for one in counts]) / len(counts)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def ours(markup: bytes) -> str:
    return content_of(scan_html(parse_html(markup).tree), may_have_nosnippet(markup)).content


def trafilatura() -> Callable[[bytes], str]:
    from trafilatura import extract

    return lambda markup: extract(markup, include_comments=False) or ""


def readability() -> Callable[[bytes], str]:
    from lxml import html
    from readability import Document

    return lambda markup: " ".join(
        map(str, html.fromstring(Document(markup.decode("utf-8", "replace")).summary()).itertext())
    )


def resiliparse() -> Callable[[bytes], str]:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    return lambda markup: str(extract_plain_text(HTMLTree.parse_from_bytes(markup), main_content=True))


PEERS: Mapping[str, Callable[[], Callable[[bytes], str]]] = {
    "trafilatura": trafilatura,
    "readability-lxml": readability,
    "resiliparse": resiliparse,
}


def scores(every: Iterable[GoldPage], extract: Callable[[bytes], str]) -> dict[str, float]:
    counts: dict[str, list[Counts]] = {kind: [] for kind in SETS}
    for page in every:
        counts[page.kind].append(compared(page, extract(page.utf8)))
    return {kind: f1(kind, found) for kind, found in counts.items()}


def cpu_ms(every: Sequence[GoldPage], extract: Callable[[GoldPage], object], turns: int) -> float:
    """A page's mean CPU time, in the fastest of some turns."""
    times = []
    for _ in range(turns):
        start = time.process_time()
        for page in every:
            extract(page)
        times.append(time.process_time() - start)
        gc.collect()
    return min(times) / len(every) * 1000


def as_read(page: GoldPage) -> object:
    """The page as a crawl reads it."""
    return read(Capture(Url("http://bench.test/"), 1, 200, "OK", (("Content-Type", "text/html"),), page.markup))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=HOME, help="the folder of the three sets")
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    keep_freed_memory()  # as a reader process does
    gc.disable()
    every = pages(given.home)
    timed = [page for page in every if page.kind != READABLE]
    print(f"F1, and CPU milliseconds a page ({len(timed)} of {len(every)} pages)\n")
    print(f"{'':28}" + "".join([f"{kind:>30}" for kind in SETS]) + f"{'ms a page':>12}")
    found = scores(every, ours)
    ms = cpu_ms(timed, as_read, given.turns)
    print(f"{'ours, the whole reading':28}" + "".join([f"{found[kind]:30.3f}" for kind in SETS]) + f"{ms:12.2f}")
    for name, peer in PEERS.items():
        extract = peer()
        theirs = scores(every, extract)
        theirs_ms = cpu_ms(timed, lambda page, extract=extract: extract(page.utf8), 1)  # type: ignore[misc]
        print(f"{name:28}" + "".join([f"{theirs[kind]:30.3f}" for kind in SETS]) + f"{theirs_ms:12.2f}")
    missed = [kind for kind, wanted in TARGETS.items() if found[kind] < wanted]
    for kind in missed:
        print(f"missed: {kind} is {found[kind]:.3f}, wanted {TARGETS[kind]:.3f}")
    if ms > MOST_MS:
        print(f"missed: {ms:.2f} ms a page, wanted {MOST_MS}")
    return int(bool(missed) or ms > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
