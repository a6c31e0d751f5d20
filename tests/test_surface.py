"""`import gossamer`: the public interface for programs."""

import asyncio
import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.site import make_collection

import gossamer
from gossamer import api
from gossamer.base.errors import ConfigError, DirectoryUnusable, QueryRefused
from gossamer.collection import collection as whole
from gossamer.collection import state

HOSTILE = "http://hostile.test/page/0"


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_collection(tmp_path_factory.getbasetemp() / "web").root


@pytest.fixture(scope="module")
def collection(root: Path) -> Iterator[gossamer.Collection]:
    with gossamer.open(root) as opened:
        yield opened


def test_the_import_is_cheap_and_every_name_exists() -> None:
    heavy = ("lxml", "tantivy", "pyoxigraph", "starlette", "httptools", "sqlite3", "asyncio")
    script = f"import sys, gossamer; print([name for name in {heavy} if name in sys.modules], dir(gossamer))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] ") and "'open'" in done.stdout
    assert set(gossamer.__all__) == set(dir(gossamer))
    assert all(getattr(gossamer, name) is not None for name in gossamer.__all__)
    stub = (Path(gossamer.__file__).parent / "__init__.pyi").read_text()
    assert all(f"{name} as {name}\n" in stub or f"\n{name}: " in stub for name in gossamer.__all__)
    with pytest.raises(AttributeError):
        _ = gossamer.nothing  # type: ignore[attr-defined]


def test_a_search_has_the_same_filters_as_the_search_page(collection: gossamer.Collection) -> None:
    everywhere = collection.search("zebrafinch")
    assert everywhere.total >= 5 and everywhere.hits[0].url.startswith("http://hostile.test/")
    assert collection.search("zebrafinch", sites="hostile.test").total == everywhere.total
    assert collection.search("zebrafinch", without_sites=["hostile.test"]).total == 0
    assert collection.search("zebrafinch", types="Person").total >= 5
    assert collection.search(sites=["hostile.test"], limit=3, start=1).hits
    assert len(collection.search("zebrafinch", limit=1).hits) == 1
    assert collection.search("zebrafinch", since=1_800_000_000_000_000).total == 0
    assert collection.search("zebrafinch", sort="newest").hits
    with pytest.raises(ConfigError):
        collection.search("x", start=-1)
    with pytest.raises(QueryRefused):
        collection.search("x", limit=100_000)


def test_facts_are_queried_with_sparql(collection: gossamer.Collection) -> None:
    result = collection.sparql("SELECT ?type (COUNT(*) AS ?n) WHERE { ?s a ?type } GROUP BY ?type ORDER BY DESC(?n)")
    assert result.names == ("type", "n") and len(result) > 3 and not result.is_cut
    assert all(str(row["type"]).startswith("http") for row in result)
    assert int(str(result.rows[0]["n"])) > 1 and result.rows[0]["n"].datatype.endswith("integer")
    assert collection.sparql("ASK { ?s ?p ?o }").is_so is True
    assert collection.sparql("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 2").text.count(" .\n") == 2
    assert collection.sparql("SELECT * WHERE { ?s ?p ?o }", most_rows=5).is_cut
    with pytest.raises(QueryRefused, match="cannot be parsed"):
        collection.sparql("SELECT WHERE {")
    with pytest.raises(QueryRefused):
        collection.sparql("DELETE WHERE { ?s ?p ?o }")


def test_a_page_has_facts_links_and_an_explanation(collection: gossamer.Collection) -> None:
    page = collection.page(HOSTILE)
    assert page is not None and "zebrafinch" in page.text and page.versions[0].status == 200
    facts = collection.facts(HOSTILE)
    assert len(facts) > 5 and {fact.graph for fact in facts} == {f"<{HOSTILE}>"}
    assert isinstance(facts[0], gossamer.Quad)
    links = collection.links(HOSTILE)
    assert links.outgoing and links.incoming_count >= 1 and links.anchors
    assert collection.page("http://nowhere.test/") is None and collection.facts("http://nowhere.test/") == []
    seed = next(iter(collection)).url
    assert collection.why(seed).url and not collection.why("http://nowhere.test/").is_known
    with pytest.raises(ConfigError, match="not the URL"):
        collection.page("javascript:alert(1)")


def test_all_pages_are_iterated_and_exported(collection: gossamer.Collection, tmp_path: Path) -> None:
    pages = list(collection)
    assert len(pages) > 40 and any(page.text for page in pages)
    count = collection.export("nquads", tmp_path / "facts.nq")
    assert count == (tmp_path / "facts.nq").read_bytes().count(b"\n") > 100


def test_a_query_works_within_a_running_event_loop(root: Path) -> None:
    """A notebook has one."""

    async def ask() -> bool | None:
        with gossamer.open(root) as collection:
            return collection.sparql("ASK { ?s ?p ?o }").is_so

    assert asyncio.run(ask()) is True


def test_nothing_is_written_and_closing_twice_is_harmless(root: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*.db")}
    collection = gossamer.open(str(root))
    collection.search("harbour")
    collection.close()
    collection.close()
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*.db")} == before


def test_a_missing_collection_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DirectoryUnusable, match="there is no collection"):
        gossamer.open(tmp_path)


def test_the_examples_in_the_docstrings_run(
    collection: gossamer.Collection, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They show no output, since that depends on the crawled pages: here they only must not fail."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gossamer-data").symlink_to(root)
    known = {"gossamer": gossamer, "collection": collection}
    ran = 0
    finder = doctest.DocTestFinder(recurse=True)
    for test in [found for module in (api, state, whole) for found in finder.find(module, "opening", globs={})]:
        for example in test.examples:
            source = example.source.replace("http://example.org/", HOSTILE)
            exec(compile(source, test.name, "exec"), dict(known))  # noqa: S102
            ran += 1
    assert ran >= 9
