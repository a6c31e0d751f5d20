"""Where a fact comes from: stored next to the graph, and available in queries."""

import sqlite3
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from gossamer.base.clock import SystemClock
from gossamer.base.errors import ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.extract.origins import packed
from gossamer.extract.page import extract
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.values.messages import PageFacts
from gossamer.values.page import ntriples
from gossamer.values.url import Url
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.query_job import SourcesUnreadable, SparqlQuestion, SparqlResult, _reply
from gossamer.views.facts.sources import SOURCES, SourcesReader, graph_name
from gossamer.views.facts.store import Graph

FILES, CLOCK = DiskFiles(), SystemClock()
PAGE = Url("https://museum.example/teapot")
MARKUP = b"""<html lang=en><head><meta property="og:title" content="Blue teapot"></head>
<body vocab="http://schema.org/"><main><div typeof=Thing><p>x</p><p><span property=name>Teapot</span></p></div></main>
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product", "name": "Pot"}</script>"""
ALL = """SELECT ?p ?o (<urn:gossamer:syntax>(?g, ?s, ?p, ?o) AS ?syntax) (<urn:gossamer:path>(?g, ?s, ?p, ?o) AS ?path)
WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g != <urn:gossamer:provenance>) }"""


def facts_of(markup: bytes, capture_id: int, fetched_at: int) -> PageFacts:
    found = extract(scan_html(parse_html(markup).tree).survey(), PAGE, capture_id, markup)
    lines = ntriples(found.triples)
    return PageFacts(PAGE, lines, capture_id, fetched_at, packed(found, lines))


def question(folder: Path, sources: Path, query: str = ALL) -> SparqlQuestion:
    return SparqlQuestion(str(folder), query, "text/tab-separated-values", 100, 1 << 20, (), (), str(sources))


def ask(folder: Path, sources: Path, query: str = ALL) -> list[list[str]]:
    reply = _reply(question(folder, sources, query))
    assert isinstance(reply, SparqlResult)
    return [line.split("\t") for line in reply.body.decode().splitlines()[1:]]


def checkpoint(graph: Graph, folder: Path) -> Path:
    made = Checkpoints(folder, FILES, CLOCK, silent).make(graph)
    assert made is not None
    return made.folder


def test_a_query_gets_the_syntaxes_and_the_element_of_every_fact(tmp_path: Path) -> None:
    with Graph(tmp_path / "live", FILES, CLOCK, silent) as graph:
        graph.replace([facts_of(MARKUP, 7, 1)])
        rows = ask(checkpoint(graph, tmp_path / "copies"), tmp_path / "live" / SOURCES)
    sources = {(row[0], row[1]): (row[2], row[3]) for row in rows}
    assert sources["<http://ogp.me/ns#title>", '"Blue teapot"@en'] == ('"rdfa opengraph"', '"/html/head/meta"')
    assert sources["<http://schema.org/name>", '"Teapot"@en'] == ('"rdfa"', '"/html/body/main/div/p[2]/span"')
    assert sources["<http://schema.org/name>", '"Pot"'] == ('"json-ld"', '"/html/body/script"')
    assert all(syntax and path for syntax, path in sources.values()), "every fact has its source"


def test_unknown_sources_are_left_unbound_and_never_taken_from_another_capture(tmp_path: Path) -> None:
    with Graph(tmp_path / "live", FILES, CLOCK, silent) as graph:
        graph.replace([facts_of(MARKUP, 7, 1)])
        old = checkpoint(graph, tmp_path / "copies")
        graph.replace([facts_of(MARKUP, 8, 2)])
        assert {row[2] for row in ask(old, tmp_path / "live" / SOURCES)} == {""}, "the record is of a later capture"
        assert {row[2] for row in ask(old, tmp_path / "nowhere" / SOURCES)} == {""}
        new = checkpoint(graph, tmp_path / "copies")
        assert "" not in {row[2] for row in ask(new, tmp_path / "live" / SOURCES)}
        odd = "SELECT (<urn:gossamer:syntax>(1, 2) AS ?a) (<urn:gossamer:path>(<x:g>, <x:s>, <x:p>, 1) AS ?b) WHERE {}"
        assert ask(new, tmp_path / "live" / SOURCES, odd) == [["", ""]]


def test_a_page_that_is_removed_or_no_longer_states_facts_loses_its_record(tmp_path: Path) -> None:
    reader = SourcesReader(tmp_path / "live" / SOURCES)
    with Graph(tmp_path / "live", FILES, CLOCK, silent) as graph:
        graph.replace([facts_of(MARKUP, 7, 1)])
        assert reader.record_of(graph_name(PAGE), 7) is not None
        graph.replace([facts_of(b"<p>nothing", 8, 2)])
        graph.replace([facts_of(MARKUP, 7, 1)])  # an older capture restores nothing
        assert SourcesReader(tmp_path / "live" / SOURCES).record_of(graph_name(PAGE), 7) is None
        graph.replace([facts_of(MARKUP, 9, 3)])
        graph.remove(PAGE)
    with sqlite3.connect(tmp_path / "live" / SOURCES) as held:
        assert held.execute("SELECT count(*) FROM records").fetchone() == (0,)


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 100, b"", None])
def test_F_X12_a_damaged_or_missing_database_is_damage_of_the_graph(tmp_path: Path, content: bytes | None) -> None:
    live = tmp_path / "live"
    with Graph(live, FILES, CLOCK, silent) as graph:
        graph.replace([facts_of(MARKUP, 7, 1)])
        copy = checkpoint(graph, tmp_path / "copies")
    (live / SOURCES).unlink()
    if content is not None:
        (live / SOURCES).write_bytes(content)
    with pytest.raises(ViewDamaged, match=SOURCES):
        Graph(live, FILES, CLOCK, silent).__enter__()
    if content:
        with pytest.raises(ViewDamaged, match=SOURCES):
            SourcesReader(live / SOURCES).record_of(graph_name(PAGE), 7)
        assert isinstance(_reply(question(copy, live / SOURCES)), SourcesUnreadable)


def test_a_record_of_sources_is_small(tmp_path: Path) -> None:
    """At most forty bytes for each fact."""
    rows = "".join(
        f'<li typeof="Thing"><a property="url" href="/{n}">x</a><b property="name">n{n}</b>' for n in range(50)
    )
    page = facts_of(f'<body vocab="http://schema.org/"><ul>{rows}</ul>'.encode(), 7, 1)
    count = len(list(parse(page.facts, RdfFormat.N_TRIPLES)))
    assert count > 100
    assert len(page.sources) <= 40 * count
