"""Extraction compared with other extractors: the same pages, one run, CPU time, the same facts.

    python -m bench.extract --real ../shared/corpus/structured-pages

RDFa alone is compared with pyRdfa3 on real and on dense pages, all syntaxes with extruct on real pages. Each side takes
bytes and returns what its user wants: N-Triples from pyRdfa3 and from us, JSON text from extruct, which has no triples
(converting would cost it more). Turns are interleaved, and the best of each counts. It fails when a target is missed,
or when RDFa facts differ from pyRdfa3's without a reason listed here. The last lines are `ratio NAME N`.
"""

import argparse
import gc
import importlib
import io
import json
import logging
import platform
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox
import pyRdfa
import rdflib
from selectolax.lexbor import LexborHTMLParser

import gossamer
from bench.extract_pages import Sample, dense_pages, real_pages
from gossamer.extract.page import extract
from gossamer.extract.source import SYNTAXES
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.parse.html.tree import ParsedHtml, parse_html, scan_html
from gossamer.values.page import ntriples
from gossamer.values.url import Url, url_of

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "structured-pages"
TARGETS = {"rdfa-real": 20.0, "rdfa-dense": 10.0, "all-real": 50.0}
SHORTEST_TURN_S = 0.4
"""CPU seconds; fast sides process the pages several times."""

_BLANK = re.compile(r"_:\w+")

Side = Callable[[Sample], bytes]


def ours(syntaxes: Collection[str] = SYNTAXES) -> Side:
    """As another program would call Gossamer."""
    return lambda sample: gossamer.extract(sample.body, sample.address, syntaxes=syntaxes).ntriples().encode()


def as_crawled(syntaxes: Collection[str] = SYNTAXES) -> Side:
    """As a crawl does it, which ignores @role: charset, tree, survey, facts."""

    def read(sample: Sample) -> bytes:
        markup = as_utf8(sample.body, charset_of(None, sample.body).encoding)
        page = _address(sample.address)
        seen = scan_html(parse_html(markup).tree)
        found = extract(seen.survey(), _base_of(seen, page), 1, markup, page, syntaxes=syntaxes)
        return ntriples(found.triples)

    return read


def _base_of(seen: ParsedHtml, page: Url) -> Url:
    declared = next((about["href"] for _, tag, about in seen.elements if tag == "base" and "href" in about), None)
    return (url_of(declared, page) if declared else None) or page


def _address(text: str) -> Url:
    url = url_of(text)
    assert url is not None
    return url


def pyrdfa3(sample: Sample) -> bytes:
    options = pyRdfa.Options(output_default_graph=True, output_processor_graph=False, embedded_rdf=False)
    engine = pyRdfa.pyRdfa(options, base=sample.address, media_type="text/html")
    graph = engine.graph_from_source(io.BytesIO(sample.body), graph=rdflib.Graph(), rdfOutput=False)
    written: bytes = graph.serialize(format="nt", encoding="utf-8")
    return written


def extruct_all() -> Side:
    """Imported only when needed: it adds prefixes to pyRdfa3's own table, and then pyRdfa3 would find other facts."""
    extract_all = importlib.import_module("extruct").extract
    return lambda sample: json.dumps(
        extract_all(sample.body, base_url=sample.address, errors="ignore"), default=str
    ).encode()


def lexbor(sample: Sample) -> bytes:
    """Parses the tree only: no extractor on top of it can be faster."""
    return b"" if LexborHTMLParser(sample.body).root is None else b"\n"


RDFA = {"lexbor": lexbor, "ours": ours(("rdfa",)), "ours in a crawl": as_crawled(("rdfa",)), "pyRdfa3": pyrdfa3}


class Timed(NamedTuple):
    pass_s: float
    """CPU seconds for all pages once; the best turn."""
    lines: int


def measured(sides: Mapping[str, Side], samples: Sequence[Sample], turns: int) -> dict[str, Timed]:
    best: dict[str, Timed] = {}
    for _ in range(turns):
        for name, side in sides.items():
            one = _turn(side, samples)
            best[name] = one if name not in best or one.pass_s < best[name].pass_s else best[name]
    return best


def _turn(side: Side, samples: Sequence[Sample]) -> Timed:
    gc.collect()
    passes, lines, began = 0, 0, time.process_time()
    while (spent := time.process_time() - began) < SHORTEST_TURN_S or not passes:
        lines = sum([side(sample).count(b"\n") for sample in samples])
        passes += 1
    return Timed(spent / passes, lines)


def print_table(title: str, timed: Mapping[str, Timed], samples: Sequence[Sample], peer: str) -> float:
    """Returns how many times as fast as the peer we are."""
    size = sum(len(sample.body) for sample in samples) / len(samples)
    print(f"\n{title}: {len(samples)} pages, {size / 1000:.1f} KB each on average")
    for name, one in timed.items():
        facts = f"{one.lines:6,} facts" if name != "lexbor" and name != "extruct" else " " * 12
        times = timed[peer].pass_s / one.pass_s
        print(f"  {name:16s}{len(samples) / one.pass_s:9,.1f} pages/s  {facts}  {times:7.1f} x {peer}")
    share = timed["lexbor"].pass_s / timed["ours"].pass_s
    print(f"  the bare parse is {share:.0%} of ours", flush=True)
    return timed[peer].pass_s / timed["ours"].pass_s


def differences(samples: Sequence[Sample]) -> list[str]:
    """Facts that only we or only pyRdfa3 find, one per line; none if the graphs are equal but for the names of blank
    nodes."""
    found = []
    for sample in samples:
        mine, theirs = _graph(ours(("rdfa",))(sample)), _graph(pyrdfa3(sample))
        if mine != theirs:
            found += [f"{sample.name} {line}" for line in _apart(mine, theirs)]
    return found


def as_current(sample: Sample) -> Sample:
    """A page that declares RDFa 1.0 is read by the rules of 2008, under which XML literals can be written in many ways.
    For the comparison it declares 1.1, so that both sides have the same facts to find."""
    body = sample.body.replace(b"XHTML+RDFa 1.0", b"XHTML+RDFa 1.1").replace(b"xhtml-rdfa-1.dtd", b"xhtml-rdfa-2.dtd")
    return sample._replace(body=body)


def _graph(lines: bytes) -> ox.Dataset:
    graph = ox.Dataset(ox.parse(lines, format=ox.RdfFormat.N_TRIPLES))
    graph.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return graph


def _apart(mine: ox.Dataset, theirs: ox.Dataset) -> list[str]:
    """Ignores the names of blank nodes, which depend on the whole graph; if only those differ, one line says so."""
    ours_, peers = (Counter(_BLANK.sub("_:", str(quad)) for quad in graph) for graph in (mine, theirs))
    lines = [f"only ours:   {line}" for line in (ours_ - peers).elements()]
    return lines + [f"only theirs: {line}" for line in (peers - ours_).elements()] or ["blank nodes linked differently"]


REASONS: dict[str, str] = {}
"""Why facts may differ: part of a line of `differences`, and the reason."""


def report(lines: Sequence[str]) -> int:
    """Prints how many differ for each reason, and in full those without a listed one; returns the number of these."""
    reasons = [next((why for part, why in REASONS.items() if part in line), None) for line in lines]
    for reason, count in Counter(reasons).items():
        print(f"  {count} because {reason}" if reason else f"  {count} FOR NO LISTED REASON:")
    unexplained = [line for line, reason in zip(lines, reasons, strict=True) if reason is None]
    for line in unexplained:
        print(f"    {line[:200]}")
    return len(unexplained)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, default=CORPUS, help="folder of captured pages")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    rdflib.NORMALIZE_LITERALS = False  # literals as written; it also saves pyRdfa3 some work
    real, dense = real_pages(given.real), dense_pages()
    if not real:
        print(f"no pages in {given.real}: only the dense ones are measured")
    print(f"Python {platform.python_version()}, {platform.machine()}; syntaxes: {', '.join(SYNTAXES)}")
    current = list(map(as_current, real))
    apart = differences([*current, *dense])
    print(f"RDFa facts compared with pyRdfa3's, {len(real) + len(dense)} pages: {len(apart)} differ")
    wrong = report(apart)
    ratios = {}
    if real:
        ratios["rdfa-real"] = print_table("RDFa, real", measured(RDFA, current, given.turns), current, "pyRdfa3")
    ratios["rdfa-dense"] = print_table("RDFa, dense", measured(RDFA, dense, given.turns), dense, "pyRdfa3")
    if real:
        every = {"lexbor": lexbor, "ours": ours(), "ours in a crawl": as_crawled(), "extruct": extruct_all()}
        ratios["all-real"] = print_table("all syntaxes, real", measured(every, real, given.turns), real, "extruct")
    print()
    for name, ratio in ratios.items():
        if ratio < TARGETS[name]:
            print(f"missed: {name} is {ratio:.1f}, wanted {TARGETS[name]:.0f}")
    for name, ratio in ratios.items():
        print(f"ratio {name} {ratio:.1f}")
    return int(wrong > 0 or any(ratio < TARGETS[name] for name, ratio in ratios.items()))


if __name__ == "__main__":
    sys.exit(main())
