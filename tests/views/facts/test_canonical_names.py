"""Queries find every spelling of a name, or only the exact spelling when that is requested."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.views.facts.pages import START

from gossamer.base.clock import SystemClock
from gossamer.base.errors import DirectoryUnusable, QueryRefused, ViewDamaged
from gossamer.base.files import DiskFiles
from gossamer.base.processes import SystemProcesses
from gossamer.base.tell import silent
from gossamer.reader.reading import read
from gossamer.values.capture import Capture
from gossamer.values.messages import PageFacts
from gossamer.values.url import url_of
from gossamer.views.facts.checkpoints import FORMAT, Checkpoints, newest
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.query_text import canonical_query
from gossamer.views.facts.sources import SOURCES
from gossamer.views.facts.sparql import FactFiles, QueryLimits, QueryPool
from gossamer.views.facts.store import Graph, LocalFacts, opened

JSON = "application/sparql-results+json"
OLD, NEW = "http://schema.org/", "https://schema.org/"
PAGES = {
    "https://one.test/": f'<p vocab="{OLD}" typeof="Person"><b property="name">Ada</b></p>',
    "https://two.test/": f'<p itemscope itemtype="{NEW}Person"><b itemprop="name">Bo</b></p>',
    "https://drei.test/über": '<a rel="foaf:knows" href="/%C3%BCber">ich</a><a rel="foaf:knows" href="äh">er</a>',
    "https://four.test/": '<a rel="foaf:topic" href="https://drei.test/%C3%BCber">x</a>',
}


def facts_of(address: str, markup: str) -> PageFacts:
    url = url_of(address)
    assert url is not None
    reading = read(Capture(url, START, 200, "OK", (("content-type", "text/html"),), markup.encode()))
    return PageFacts(url, reading.facts, reading.capture_id, reading.fetched_at, reading.sources)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("spelt")
    with Graph(root / "graph", DiskFiles(), SystemClock(), silent) as graph:
        graph.replace([facts_of(*page) for page in PAGES.items()])
        Checkpoints(root / "checkpoints", DiskFiles(), SystemClock(), silent).make(graph)
        yield root


def ask(root: Path, *queries: str, **choices: object) -> list[SparqlResult]:
    async def ask_all() -> list[SparqlResult]:
        facts = FactFiles(lambda: root / "checkpoints", lambda: root / "graph" / SOURCES)
        parts = (DiskFiles(), SystemProcesses(), SystemClock(), silent)
        async with QueryPool(facts, QueryLimits(1, time_s=60), *parts) as pool:
            return [await pool.ask(query, JSON, **choices) for query in queries]  # type: ignore[arg-type]

    return asyncio.run(ask_all())


def values(result: SparqlResult) -> list[str]:
    answer = json.loads(result.body)
    return sorted(cell["value"] for row in answer["results"]["bindings"] for cell in row.values())


def test_either_spelling_of_schema_org_finds_what_pages_state_in_both(facts: Path) -> None:
    found = ask(
        facts,
        *(f"PREFIX s: <{space}> SELECT ?n {{ ?x a s:Person ; s:name ?n }}" for space in (OLD, NEW)),
        f"SELECT ?n {{ ?x a <{NEW}Person> ; <http://www.schema.org/name> ?n }}",
        f"BASE <{NEW}> SELECT ?n {{ ?x a <Person> ; <name> ?n }}",
        "PREFIX s: <https://schema.org/Per> PREFIX t: <https:> "
        "SELECT ?n { ?x a s:son ; t:\\/\\/schema\\.org\\/name ?n }",
        "SELECT ?n { VALUES ?t { <https://schema\\u002eorg/Person> } ?x a ?t ; <http://schema.org/name> ?n }",
    )
    for result in found:
        assert values(result) == ["Ada", "Bo"]
    counts = ask(facts, "SELECT (COUNT(DISTINCT ?c) AS ?n) { ?x a ?c }")
    assert values(counts[0]) == ["1"]


def test_exact_names_match_only_their_own_spelling(facts: Path) -> None:
    secure, plain = ask(facts, *(f"SELECT ?x {{ ?x a <{space}Person> }}" for space in (NEW, OLD)), has_exact_names=True)
    assert values(secure) == [] and len(values(plain)) == 2


def test_a_query_can_ask_for_the_spelling_on_the_page(facts: Path) -> None:
    spelling = "<urn:gossamer:spelling>(?page, ?x, ?p, ?o)"
    [result] = ask(facts, f'SELECT ?page {{ GRAPH ?page {{ ?x ?p ?o }} FILTER(CONTAINS({spelling}, "{NEW}name")) }}')
    assert values(result) == ["https://two.test/"]
    [unbound] = ask(facts, f"SELECT ?y {{ GRAPH <https://one.test/> {{ ?x ?p ?o }} BIND({spelling} AS ?y) }}")
    assert values(unbound) == []


def test_a_string_that_looks_like_a_variant_is_noted(facts: Path) -> None:
    [result] = ask(facts, f'SELECT ?p {{ ?x ?p ?o FILTER STRSTARTS(STR(?p), "{NEW}") }}')
    assert values(result) == []
    assert result.notes == (f"The string “{NEW}” is compared as written; the canonical name is {OLD}.",)


def test_a_page_has_one_name_on_all_pages_that_mention_it(facts: Path) -> None:
    uber = "https://drei.test/über"
    own, others, graph, named, encoded = ask(
        facts,
        f"SELECT ?o {{ <{uber}> <http://xmlns.com/foaf/0.1/knows> ?o }}",
        f"SELECT ?s {{ ?s <http://xmlns.com/foaf/0.1/topic> <{uber}> }}",
        "SELECT ?page { GRAPH ?page { ?page <http://xmlns.com/foaf/0.1/knows> ?page } }",
        f"SELECT ?o FROM <{uber}> {{ ?s ?p ?o }}",
        "SELECT ?o { <https://drei.test/%C3%BCber> <http://xmlns.com/foaf/0.1/knows> ?o }",
    )
    assert values(own) == values(named) == values(encoded) == ["https://drei.test/äh", uber]
    assert values(others) == ["https://four.test/"] and values(graph) == [uber]
    [by_parameter] = ask(facts, "SELECT ?o { ?s ?p ?o }", default_graphs=("https://drei.test/%C3%BCber",))
    assert values(by_parameter) == values(own)


def test_a_syntax_error_is_located_in_the_query_as_typed(facts: Path) -> None:
    query = f"SELECT ?x {{ ?x a <{NEW}Person> . ?x a ; }}"
    messages = set()
    for has_exact_names in (False, True):
        with pytest.raises(QueryRefused, match="column") as refused:
            ask(facts, query, has_exact_names=has_exact_names)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_rewriting_changes_only_names() -> None:
    query = f"SELECT * {{ ?x ?p \"<{NEW}a>\" . # <{NEW}b>\n FILTER(?a <?b && ?c> 1) ?x <{NEW}c> '{NEW}' }}"
    assert canonical_query(query).query == query.replace(f"<{NEW}c>", f"<{OLD}c>")
    plain = "PREFIX ex: <http://a.test/> SELECT * { ex:b%20c ?p <http://a.test/%20> }"
    assert canonical_query(plain) == (plain, ())
    coded = "PREFIX ex: <http://a.test/> SELECT * { ex:%C3%BC a ex: }"
    assert canonical_query(coded).query == coded.replace("ex:%C3%BC", "<http://a.test/ü>")


def make_outdated(folder: Path) -> None:
    """Turns a store into one of the previous format version."""
    (folder / FORMAT).unlink()


def test_facts_of_an_older_version_are_refused_and_rebuilt(tmp_path: Path) -> None:
    files, live, copies = DiskFiles(), tmp_path / "graph", tmp_path / "checkpoints"
    with Graph(live, files, SystemClock(), silent) as graph:
        LocalFacts(graph, live, files, silent).commit(b"[1,2]", [facts_of(*page) for page in PAGES.items()])
        Checkpoints(copies, files, SystemClock(), silent).make(graph)
    checkpoint = newest(files, copies)
    assert checkpoint is not None
    for folder in (live, checkpoint.folder):
        make_outdated(folder)
        with pytest.raises(ViewDamaged, match=r"format 1, and this version of Gossamer reads 2.*gossamer rebuild"):
            opened(folder)
    with pytest.raises(ViewDamaged, match="gossamer rebuild"):
        ask(tmp_path, "SELECT * { ?s ?p ?o }")
    with Graph(live, files, SystemClock(), silent) as graph:
        assert graph.is_empty() and LocalFacts(graph, live, files, silent).position == b""
        graph.replace([facts_of(*page) for page in PAGES.items()])
    with Graph(live, files, SystemClock(), silent) as graph:
        assert not graph.is_empty()
    (live / FORMAT).write_bytes(b"99")
    with pytest.raises(DirectoryUnusable, match="newer Gossamer"):
        Graph(live, files, SystemClock(), silent).__enter__()
