import asyncio
import contextlib
import csv
import io
import json
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph
import pytest
from tests.services import fuseki
from tests.views.digests import facts_digest
from tests.views.facts.forms import ADDRESS, FORMS, opened_queries, stored
from tests.views.facts.pages import entity_page, page

from gossamer.base.clock import SystemClock
from gossamer.base.errors import QueryRefused, QueryTooLong
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.views.facts.checkpoints import Checkpoints
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.sparql import MOST_ROWS, FactQueries, QueryLimits
from gossamer.views.facts.store import Graph

JSON = "application/sparql-results+json"
EVERYTHING = "SELECT * { ?s ?p ?o }"


@pytest.fixture(scope="module", params=FORMS)
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A live store, still open, and a checkpoint of it, or a server; 600 pages, 12,000 facts."""
    words = page(
        "http://words.test/",
        '<http://s> <http://says> "a \\"SERVICE\\" with <tags> & more,\\nand a tab\\t"@en',
        '<http://s> <http://says> "caf\\u00E9 \\u0001"',
        '<http://s> <http://counts> "5"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "<http://s> <http://knows> _:n1",
    )
    pages = [words, *(entity_page(number) for number in range(600))]
    with stored(request.param, tmp_path_factory.mktemp("facts"), pages) as root:
        yield root


ONE_WORKER = QueryLimits(workers=1, time_s=60.0)


def asking(root: Path, use: Callable[[FactQueries], Awaitable[None]], limits: QueryLimits = ONE_WORKER) -> None:
    async def ask_all() -> None:
        async with opened_queries(root, limits) as pool:
            await use(pool)

    asyncio.run(ask_all())


def answers(root: Path, *questions: tuple[str, str]) -> list[SparqlResult]:
    found: list[SparqlResult] = []

    async def use(pool: FactQueries) -> None:
        for query, accept in questions:
            found.append(await pool.ask(query, accept))

    asking(root, use)
    return found


def test_a_plain_pattern_matches_the_facts_of_all_pages(facts: Path) -> None:
    [result] = answers(facts, ("SELECT (COUNT(*) AS ?n) { ?s <http://schema.org/price> ?o }", JSON))
    assert json.loads(result.body)["results"]["bindings"][0]["n"]["value"] == "600"
    assert not result.truncated
    assert 0 < result.as_of <= SystemClock().now()


def test_rows_are_sent_in_the_requested_format(facts: Path) -> None:
    query = "SELECT ?o ?none { <http://s> ?p ?o } ORDER BY ?o"
    kinds = (JSON, "application/sparql-results+xml", "text/csv", "text/tab-separated-values")
    as_json, as_xml, as_csv, as_tsv = answers(facts, *((query, kind) for kind in kinds))
    assert [result.media_type for result in (as_json, as_xml, as_csv, as_tsv)] == list(kinds)

    answer = json.loads(as_json.body)
    assert answer["head"]["vars"] == ["o", "none"]
    terms = [row["o"] for row in answer["results"]["bindings"]]
    assert {"type": "literal", "value": 'a "SERVICE" with <tags> & more,\nand a tab\t', "xml:lang": "en"} in terms
    assert {"type": "literal", "value": "5", "datatype": "http://www.w3.org/2001/XMLSchema#integer"} in terms
    assert {"type": "literal", "value": "café \x01"} in terms
    values = sorted(term["value"] for term in terms)

    space = "{http://www.w3.org/2005/sparql-results#}"
    rows = ElementTree.fromstring(as_xml.body).iter(f"{space}result")
    found = sorted("".join(row.itertext()) for row in rows)
    assert [text.replace("\ufffd", "\x01") for text in found] == values

    table = list(csv.reader(io.StringIO(as_csv.body.decode(), newline="")))
    assert table[0] == ["o", "none"]
    assert sorted(row[0].removeprefix("_:") for row in table[1:]) == values

    lines = as_tsv.body.decode().splitlines()
    assert lines[0] == "?o\t?none"
    assert [line.count("\t") for line in lines] == [1] * 5


def test_results_are_read_by_another_parser(facts: Path) -> None:
    query = "SELECT ?s ?p ?o { ?s ?p ?o FILTER(?s = <http://s>) }"
    for result in answers(facts, (query, JSON), (query, "xml"), (query, "tsv")):
        form = pyoxigraph.QueryResultsFormat.from_media_type(result.media_type)
        solutions = pyoxigraph.parse_query_results(result.body, form)
        assert len(list(solutions)) == 4


def test_ask_construct_and_describe_are_answered(facts: Path) -> None:
    yes, no, turtle, lines = answers(
        facts,
        ("ASK { <http://s> ?p ?o }", JSON),
        ("ASK { <http://absent> ?p ?o }", "application/sparql-results+xml"),
        ("CONSTRUCT { ?s <http://was> ?o } WHERE { ?s <http://counts> ?o }", "*/*"),
        ("DESCRIBE <http://s>", "application/n-triples"),
    )
    assert json.loads(yes.body)["boolean"] is True
    assert b"<boolean>false</boolean>" in no.body
    assert (turtle.media_type, turtle.body) == ("text/turtle", b"<http://s> <http://was> 5 .\n")
    assert lines.media_type == "application/n-triples" and lines.body.count(b"\n") == 4


def test_the_preferences_of_the_client_are_weighed(facts: Path) -> None:
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    expected = {
        "text/csv;q=0.5, application/sparql-results+json;q=0.9": JSON,
        "text/csv, application/json;q=0.9": "text/csv",
        browser: "application/sparql-results+xml",
        "image/png": JSON,
        "tsv": "text/tab-separated-values",
        "text/csv;q=nonsense": JSON,
    }
    results = answers(facts, *(("SELECT * { } LIMIT 1", accept) for accept in expected))
    assert [result.media_type for result in results] == list(expected.values())


def test_a_query_may_be_limited_to_some_pages(facts: Path) -> None:
    one = "http://host3.test/page/3"
    count = "(COUNT(*) AS ?n)"

    async def use(pool: FactQueries) -> None:
        async def number(query: str, **graphs: tuple[str, ...]) -> int:
            result = await pool.ask(query, JSON, **graphs)
            return int(json.loads(result.body)["results"]["bindings"][0]["n"]["value"])

        assert await number(f"SELECT {count} FROM <{one}> {{ ?s ?p ?o }}") == 20
        assert await number(f"PREFIX h: <http://host3.test/> SELECT {count} FROM h:page\\/3 {{ ?s ?p ?o }}") == 20
        assert await number(f"SELECT {count} FROM NAMED <{one}> {{ GRAPH ?g {{ ?s ?p ?o }} }}") == 20
        assert await number(f"SELECT {count} {{ GRAPH <{one}> {{ ?s ?p ?o }} }}") == 20
        assert await number(f"SELECT {count} {{ ?s ?p ?o }}", default_graphs=(one,)) == 20
        assert await number(f"SELECT {count} {{ ?s ?p ?o }}", named_graphs=(one,)) == 0

    asking(facts, use)


def refusals(root: Path, *queries: str) -> list[str]:
    messages: list[str] = []

    async def use(pool: FactQueries) -> None:
        for query in queries:
            with pytest.raises(QueryRefused) as refused:
                await pool.ask(query, JSON)
            assert not isinstance(refused.value, QueryTooLong), query
            messages.append(str(refused.value))

    asking(root, use)
    return messages


def test_F_W9_a_query_to_a_remote_server_is_refused(facts: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        remote = f"http://127.0.0.1:{server.getsockname()[1]}/"
        messages = refusals(
            facts,
            f"SELECT * {{ SERVICE <{remote}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ service silent <{remote}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ \\u0053ERVICE <{remote}> {{ ?s ?p ?o }} }}",
            f"PREFIX a: <http://x#> SELECT * {{ ?s a:\\# ?o . SERVICE <{remote}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ ?s <http://\\u0061#> ?o . SERVICE <{remote}> {{ ?s ?p ?o }} }}",
            f"SELECT * {{ # it's fine\nSERVICE <{remote}> {{ ?s ?p ?o }} }}",
            f"LOAD <{remote}>",
            f"SELECT * FROM <{remote}> {{ ?s ?p ?o }}",
            f"SELECT * FROM NAMED <{remote}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
            "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
        )
        with pytest.raises(BlockingIOError):
            server.accept()
    assert all(word in messages[0] for word in ("SERVICE", "this collection"))
    assert "read only" in messages[6]


def test_the_word_service_is_allowed_where_it_is_not_a_keyword(facts: Path) -> None:
    queries = (
        'SELECT * { ?s ?p "SERVICE <http://x> { }" }',
        "SELECT * { ?s ?p '''it's SERVICE'''@en }",
        "SELECT ?SERVICE { ?SERVICE ?p $from } LIMIT 1",
        "PREFIX service: <http://x/> SELECT * { ?s service:load ?o . ?s service:SERVICE ?q }",
        "SELECT * { ?s <http://x/SERVICE> ?o } # SERVICE",
        'SELECT * { ?s ?p "x"@service }',
        "SELECT * { ?s ?p ?o FILTER(?s<?o && ?o>?s) } LIMIT 1",
    )
    assert len(answers(facts, *((query, JSON) for query in queries))) == len(queries)


def all_facts(root: Path) -> object:
    if (root / ADDRESS).exists():
        return sorted(line for piece in fuseki._server().opened().page_facts() for line in piece.splitlines())
    [checkpoint] = (root / "checkpoints").glob("facts-*")
    return facts_digest(pyoxigraph.Store.read_only(str(checkpoint)))


def test_F_W10_an_update_is_refused_and_changes_nothing(facts: Path) -> None:
    before = all_facts(facts)
    messages = refusals(
        facts,
        "INSERT DATA { <http://a> <http://b> 1 }",
        "PREFIX x: <http://x/> DELETE WHERE { ?s ?p ?o }",
        "# SELECT\nCLEAR ALL",
        "DROP GRAPH <http://a>",
        "WITH <http://g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } ; DROP ALL",
    )
    assert all("read only" in message for message in messages[:5])
    assert all_facts(facts) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
        "SELECT * { ?a (<http://x>|!<http://x>)* ?b . ?c (<http://x>|!<http://x>)* ?d . ?e ?f ?g } ORDER BY ?a ?d",
        "SELECT * { ?a ?b ?c OPTIONAL { ?d ?e ?f OPTIONAL { ?g ?h ?i } } FILTER NOT EXISTS { ?a ?x ?h } } ORDER BY ?i",
    ],
)
def test_F_W11_a_runaway_query_is_stopped_and_the_worker_is_free_again(facts: Path, query: str) -> None:
    async def use(pool: FactQueries) -> None:
        await pool.ask("ASK { }", JSON)
        with pytest.raises(QueryTooLong, match="stopped"):
            await pool.ask(query, JSON)
        assert json.loads((await pool.ask("ASK { }", JSON)).body)["boolean"] is True

    started_at = time.monotonic()
    asking(facts, use, QueryLimits(1, time_s=3.0))
    print(f"stopped and replaced within {time.monotonic() - started_at:.2f} s")


def test_F_W11_a_query_is_stopped_at_its_memory_limit_and_the_terminal_stays_clean(
    facts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if (facts / ADDRESS).exists():
        pytest.skip("no protocol limits the memory of a server; its own settings do")
    large = "SELECT * { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f"

    async def use(pool: FactQueries) -> None:
        with pytest.raises(QueryTooLong, match="memory"):
            await pool.ask(large, JSON)
        await pool.ask("ASK { }", JSON)

    asking(facts, use, QueryLimits(1, time_s=60.0, memory_bytes=200 << 20))
    assert capfd.readouterr() == ("", "")


def test_F_W13_odd_and_huge_queries_are_refused_or_answered(facts: Path) -> None:
    refused = [
        "SELECT (" + "(" * 10_000 + "1" + ")" * 10_000 + " AS ?x) {}",
        "SELECT * " + "{" * 10_000 + "}" * 10_000,
        'SELECT * { ?s ?p "' + "x" * 1_000_000 + '" }',
        "*",
        "",
        "SELECT \ud800 { }",
        "a." * 30_000,
        '"""' + "'" * 60_000,
    ]
    assert all(refusals(facts, *refused))
    answers(facts, ('SELECT * { ?s ?p ?o FILTER REGEX(STR(?o), "(a+)+$") FILTER(?s = <http://s>) }', JSON))


def test_F_W13_a_query_too_deep_for_the_engine_ends_only_one_worker(facts: Path) -> None:
    async def use(pool: FactQueries) -> None:
        for deep in ("!" * 60_000 + "true", "1" + "+1" * 30_000, "-" * 60_000 + "1"):
            with contextlib.suppress(QueryRefused):  # or the engine can answer it
                await pool.ask(f"SELECT * {{ FILTER({deep}) }}", JSON)
        answer = await pool.ask("ASK { }", JSON)
        assert json.loads(answer.body)["boolean"] is True, "the next query finds a worker"

    asking(facts, use)


def test_F_W14_too_many_rows_are_cut_and_the_cut_is_reported(facts: Path) -> None:
    rows, triples, beyond = answers(
        facts,
        (EVERYTHING, JSON),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "application/n-triples"),
        (EVERYTHING + " OFFSET 1000000000", JSON),
    )
    assert rows.truncated and len(json.loads(rows.body)["results"]["bindings"]) == MOST_ROWS
    assert triples.truncated and triples.body.count(b"\n") == MOST_ROWS
    assert not beyond.truncated and json.loads(beyond.body)["results"]["bindings"] == []


def test_F_W14_too_many_bytes_are_cut_and_the_rest_is_valid_json(facts: Path) -> None:
    wide = f"CONCAT({', '.join(['?w'] * 40)})"
    long = f'SELECT ?o ({wide} AS ?x) {{ ?s ?p ?o BIND("{"y" * 999}" AS ?w) }}'
    [result] = answers(facts, (long, JSON))
    assert result.truncated
    assert 9 << 20 < len(result.body) <= 10 << 20
    assert json.loads(result.body)["results"]["bindings"]


def test_an_error_in_a_query_is_explained(facts: Path) -> None:
    [message] = refusals(facts, "SELECT * { ?s ?p }")
    assert "cannot be parsed" in message


def test_before_the_first_checkpoint_there_are_no_facts(tmp_path: Path) -> None:
    async def use(pool: FactQueries) -> None:
        result = await pool.ask(EVERYTHING, JSON)
        assert json.loads(result.body)["results"]["bindings"] == []

    asking(tmp_path, use)


def test_a_newer_checkpoint_is_used_by_the_next_query(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints", DiskFiles(), SystemClock(), silent)

    async def use(pool: FactQueries) -> None:
        with Graph(tmp_path / "live", DiskFiles(), SystemClock(), silent) as graph:
            for number in range(4):
                graph.replace([entity_page(number)])
                checkpoints.make(graph)
                result = await pool.ask("SELECT (COUNT(*) AS ?n) { ?s <http://schema.org/price> ?o }", JSON)
                assert json.loads(result.body)["results"]["bindings"][0]["n"]["value"] == str(number + 1)

    asking(tmp_path, use)


def test_reading_a_checkpoint_leaves_it_as_it_was(facts: Path) -> None:
    if (facts / ADDRESS).exists():
        pytest.skip("a server has no checkpoints")
    [checkpoint] = (facts / "checkpoints").glob("facts-*")
    before = sorted((file.name, file.stat().st_size) for file in checkpoint.iterdir())
    answers(facts, (EVERYTHING + " LIMIT 3", JSON))
    assert sorted((file.name, file.stat().st_size) for file in checkpoint.iterdir()) == before
