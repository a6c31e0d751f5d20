"""Exports of more pages than a search shows: each page is exported once, with little memory."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse
from tests.web.site import Site, serving

from gossamer.base.clock import SECOND, SystemClock
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.collection.exports import Exports
from gossamer.collection.tables import pages_csv, pages_jsonl
from gossamer.search.query import parse as query_of
from gossamer.store.directory import Directory
from gossamer.values.messages import PageFacts
from gossamer.values.page import Page, Reading
from gossamer.values.query import DEEPEST_HIT, Query
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.store import Graph
from gossamer.views.words import searcher as searcher_module
from gossamer.views.words.searcher import Searcher
from gossamer.views.words.writer import IndexWriter

PAGES = DEEPEST_HIT + 2_500
START = 1_790_000_000 * SECOND
FILLER = "plain " * 400


def url_of(number: int) -> Url:
    return Url(f"http://{'even' if number % 2 == 0 else 'odd'}.test/{number}")


def reading(number: int) -> Reading:
    words = f"harbour number{number} {'tenth' if number % 10 == 0 else ''} {FILLER if number < 1000 else ''}"
    content = words if number % 5 != 1 else f"harbour copied {number // 100}"
    page = Page(url_of(number), "text/html", "utf-8", title=f"Page {number}", content=content, language="en")
    return Reading(number, START + number % 7 * SECOND, page, b"", 1, (), (), ())


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    directory = Directory(tmp_path_factory.mktemp("many") / "c")
    directory.root.mkdir()
    files, clock = DiskFiles(), SystemClock()
    index = IndexWriter(directory.index, files, silent)
    index.open()
    for start in range(0, PAGES, 2_500):
        index.replace([reading(number) for number in range(start, min(PAGES, start + 2_500))])
        index.commit()
    index.close()
    with Graph(directory.graph, files, clock, silent) as graph:
        lines = (b'<http://a.test/#it> <http://a.test/#says> "%d" .' % number for number in range(PAGES))
        graph.replace([PageFacts(url_of(number), line, number, START) for number, line in enumerate(lines)])
        graph.sync()
        Checkpoints(directory.checkpoints, files, clock, silent).make(graph)
    return directory


@pytest.fixture(scope="module")
def site_of_many(many: Directory) -> Iterator[Site]:
    with serving(many) as site:
        yield site


def test_a_search_with_more_hits_than_it_shows_is_exported_completely(site_of_many: Site) -> None:
    lines = site_of_many.ask("/export/pages.csv?q=harbour").text.splitlines()[1:]
    assert len(lines) == PAGES > DEEPEST_HIT == 10_000
    assert {line.partition(",")[0] for line in lines} == {url_of(number).text for number in range(PAGES)}
    assert site_of_many.ask("/search.json?q=harbour").json["total"] == PAGES


def test_facts_are_exported_with_the_same_filter(site_of_many: Site) -> None:
    lines = site_of_many.ask("/export/pages.csv?site=odd.test").text.splitlines()[1:]
    quads = list(parse(site_of_many.ask("/export/facts.nq?site=odd.test").body, format=RdfFormat.N_QUADS))
    assert len(quads) == len(lines) == PAGES // 2
    assert {quad.graph_name.value for quad in quads} == {line.partition(",")[0] for line in lines}
    assert len(site_of_many.ask("/export/facts.nq").text.splitlines()) == PAGES
    assert site_of_many.ask("/export/facts.nq?since=yesterday").status == 400
    assert site_of_many.ask("/export/facts.nq?q=nosuchwordanywhere").text == ""


@pytest.mark.parametrize("text", ["harbour", "tenth", "harbour -tenth", "site:odd.test", "harbour site:even.test", ""])
@pytest.mark.parametrize("step", [700, 1000])
def test_every_page_is_exported_once_with_any_step(
    many: Directory, monkeypatch: pytest.MonkeyPatch, text: str, step: int
) -> None:
    monkeypatch.setattr(searcher_module, "DEEPEST_HIT", 100)
    monkeypatch.setattr(searcher_module, "STEP", step)
    query = query_of(text) if text else Query()
    urls = [page.url for page in Exports(many, real_outside()).pages(query, False)]
    searcher = Searcher(many.index)
    searcher.open()
    assert len(urls) == len(set(urls)) == (searcher.matching(query) if text else PAGES) > 1_000
    searcher.close()


def test_a_small_export_is_sorted_as_requested(site_of_many: Site) -> None:
    for order in ("oldest", "newest"):
        lines = site_of_many.ask(f"/export/pages.jsonl?q=tenth&sort={order}").text.splitlines()
        times = [json.loads(line)["fetched_at"] for line in lines]
        assert len(times) > 1_000 and times == sorted(times, reverse=order == "newest")


def test_a_commit_during_an_export_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searcher_module, "DEEPEST_HIT", 10)
    monkeypatch.setattr(searcher_module, "STEP", 10)
    directory = Directory(tmp_path)
    index = IndexWriter(directory.index, DiskFiles(), silent)
    index.open()
    index.replace([reading(number) for number in range(100)])
    index.commit()
    pages = Exports(directory, real_outside()).pages(query_of("harbour"), False)
    urls = [next(pages).url for _ in range(15)]
    index.replace([reading(number) for number in range(50, 200)])
    index.commit()
    urls += [page.url for page in pages]
    index.close()
    assert sorted(urls) == sorted(url_of(number).text for number in range(100)), "the pages of its start"


def test_memory_does_not_grow_with_the_number_of_pages(many: Directory) -> None:
    exports = Exports(many, real_outside())
    for pieces in (pages_jsonl(exports.pages(query_of("harbour"), True)), pages_csv(exports.pages(Query(), False))):
        next(pieces)
        tracemalloc.start()
        size = sum(len(piece) for piece in pieces)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert size > 500_000 and peak < 4 << 20, (size, peak)
