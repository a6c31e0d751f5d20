"""A SPARQL server that is unfit, gone, or asked for something that it must never get."""

import time
from pathlib import Path

import pytest
from tests.services import fuseki
from tests.views.facts.forms import writer
from tests.views.facts.pages import START, entity_page, page, url

from gossamer.base.clock import SystemClock
from gossamer.base.errors import ConfigError, QueryRefused
from gossamer.base.files import DiskFiles
from gossamer.base.tell import silent
from gossamer.extract.vocabularies import bundled
from gossamer.store.service import ServiceLost
from gossamer.views.facts.server.endpoint import NO_UPDATE, SparqlServer, update_address
from gossamer.views.facts.server.fitness import refuse_unfit
from gossamer.views.facts.server.query import server_query
from gossamer.views.facts.server.terms import literal_in_sparql
from gossamer.views.facts.server.writer import ServerFacts, prepare_folder
from gossamer.views.facts.sources import Sources, graph_name


def test_the_update_address_is_derived_from_a_common_query_address() -> None:
    assert update_address("http://h:3030/gossamer/query", "") == "http://h:3030/gossamer/update"
    assert update_address("http://h/sparql/", "") == "http://h/update"
    assert update_address("http://h/repositories/g", "http://h/up") == "http://h/up"
    with pytest.raises(ConfigError, match=r"views\.facts_update must be set"):
        update_address("http://h/repositories/g", "")
    assert "views.facts_update" in NO_UPDATE


def test_a_fit_server_is_accepted_and_left_as_it_was() -> None:
    server = fuseki.server().opened()
    refuse_unfit(server, "abc")
    assert list(server.pages()) == [] and b"".join(server.page_facts()) == b""
    server.close()


def test_a_server_whose_default_graph_is_not_the_union_is_refused_in_words(tmp_path: Path) -> None:
    own = fuseki.another(tmp_path, options=("--mem",))
    own.start()
    try:
        with pytest.raises(ConfigError, match="unionDefaultGraph=true"):
            refuse_unfit(own.opened(), "abc")
    finally:
        own.kill()


def test_a_wrong_password_is_refused_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users").write_text("spider: right\n")
    own = fuseki.another(tmp_path, options=(*fuseki.UNION, "--passwd=users", "--auth=basic"))
    own.start()
    try:
        address = own.query.replace("http://", "http://spider:${FACTS_PASSWORD}@")
        monkeypatch.setenv("FACTS_PASSWORD", "right")
        refuse_unfit(SparqlServer(address, "", SystemClock(), silent), "abc")
        monkeypatch.setenv("FACTS_PASSWORD", "guessed")
        with pytest.raises(ConfigError, match="status 401") as refused:
            refuse_unfit(SparqlServer(address, "", SystemClock(), silent), "abc")
        assert "guessed" not in str(refused.value)
        name = prepare_folder(tmp_path / "live", tmp_path / "checkpoints", DiskFiles())
        server = SparqlServer(address, "", SystemClock(), silent)
        facts = ServerFacts(server, name, Sources(tmp_path / "live", DiskFiles()), silent, lambda: False)
        facts.open()
        with pytest.raises(ConfigError, match="status 401"):
            facts.settle()
        facts.close()
    finally:
        own.kill()


def until(is_so, why: str) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(why)


def test_a_server_that_is_gone_is_waited_for_and_nothing_is_lost(tmp_path: Path) -> None:
    own = fuseki.another(tmp_path)
    name = prepare_folder(tmp_path / "live", tmp_path / "checkpoints", DiskFiles())
    server = own.opened()
    facts = ServerFacts(server, name, Sources(tmp_path / "live", DiskFiles()), silent, lambda: False)
    try:
        facts.open()  # nobody is there yet
        until(lambda: server.trouble, "it notices")
        assert facts.is_busy and facts.position == b"" and "no answer since" in facts.trouble
        own.start()
        until(lambda: not facts.is_busy, "it goes on")
        facts.commit(b'{"n": 1}', [entity_page(number) for number in range(1000)])
        facts.settle()
        own.kill()
        with pytest.raises(
            ServiceLost, match=r"views\.facts at http://127\.0\.0\.1:\d+/gossamer/query: no answer since"
        ):
            b"".join(server.page_facts())
        facts.commit(b'{"n": 2}', [entity_page(number, 7, START + 1) for number in range(2000)])
        until(lambda: "no answer since" in facts.trouble, "it waits")
        assert facts.is_busy and facts.position == b'{"n": 1}'
        own.start()
        facts.settle()
        assert facts.position == b'{"n": 2}' and facts.trouble == ""
        assert sum(piece.count(b"\n") for piece in server.page_facts()) == 2000 * 7
    finally:
        facts.close()
        own.kill()


def test_a_page_that_the_server_cannot_store_is_skipped_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped: list[object] = []

    def tell(event: str, /, **facts: object) -> None:
        if event == "graph.page-skipped":
            skipped.append(facts["url"])

    server = fuseki.server().opened()
    update = server.update

    def picky(text: str) -> None:
        update(text.replace('"poison"', '"poison" )))'))

    monkeypatch.setattr(server, "update", picky)
    with writer(server, tmp_path, tell) as facts:
        bad = page("http://bad.test/", '<http://s> <http://p> "poison"')
        facts.commit(b"{}", [entity_page(1), bad, entity_page(2), entity_page(3)])
        facts.settle()
    assert skipped == ["http://bad.test/"]
    assert sorted(server.pages()) == sorted(graph_name(entity_page(number).url) for number in (1, 2, 3))
    server.close()


def test_a_rebuild_replaces_the_same_capture_and_a_crawl_does_not(tmp_path: Path) -> None:
    server = fuseki.server().opened()
    for name, replaces_same, expected in (("a", False, b'"1"'), ("b", False, b'"1"'), ("c", True, b'"2"')):
        value = "1" if name == "a" else "2"
        with writer(server, tmp_path / name, replaces_same=replaces_same) as facts:
            assert facts.position == b""
            facts.commit(b"{}", [page("http://a.test/", f'<http://s> <http://p> "{value}"')])
            facts.settle()
        assert expected in b"".join(server.facts_of([url("http://a.test/")]))
    with writer(server, tmp_path / "c") as facts:
        assert facts.position == b"{}", "it is found again"
    server.close()


# The text of queries.


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("SELECT*{?a ?b ?c FILTER(?a<?b&&?c>?a)}", "SELECT * { ?a ?b ?c FILTER ( ?a < ?b && ?c > ?a ) } LIMIT 11"),
        ("PREFIX x: <http://x/> ASK { ?s x:y\\/z ?o } # x", "ASK { ?s <http://x/y/z> ?o }"),
        ('ASK { ?s ?p "\\u0022 } SERVICE <http://x> {" }', 'ASK { ?s ?p "\\" } SERVICE <http://x> {" }'),
        ("ASK { ?s ?p '\\\\u0022' }", 'ASK { ?s ?p "\\\\\\u00750022" }'),
        ("ASK { ?s ?p <urn:gossamer:blank:x> }", "ASK { ?s ?p <urn:gossamer:quoted:urn:gossamer:blank:x> }"),
        ("ASK { ?s <http://\\u0061> 1.5e3 }", "ASK { ?s <http://a> 1.5e3 }"),
        ("SELECT ?a { ?a ?b ?c } LIMIT 3", "SELECT  ?a { ?a ?b ?c } LIMIT 3"),
        ('ASK { ?s ?p "x"@en-gb, "5"^^<http://www.w3.org/2001/XMLSchema#byte> }', None),
        ("SELECT * { { SELECT ?a { ?a ?b ?c } LIMIT 3 } }", "SELECT * { { SELECT ?a { ?a ?b ?c } LIMIT 3 } } LIMIT 11"),
    ],
)
def test_a_query_is_written_again_from_its_tokens(query: str, sent: str | None) -> None:
    found = server_query(query, bundled(), 10).text
    assert sent is None or " ".join(found.split()) == " ".join(sent.split())
    assert "\\u0022" not in found


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ?p ?o FILTER(<java:java.lang.Runtime>(?s)) }",
        "SELECT * { ?s <java:org.example.Function> ?o }",
        "PREFIX j: <java:org.example.> SELECT * { ?s j:Function ?o }",
        "BASE <java:org.example> SELECT * { ?s <Function> ?o }",
        "SELECT * { ?s ?p ?o FILTER(<http://jena.apache.org/ARQ/function#now>()) }",
        "SELECT * { BIND(<http://jena.apache.org/ARQ/jsFunction#f>(1) AS ?x) }",
        "SELECT * { ?x <http://jena.apache.org/ARQ/list#member> (1 2) }",
        "SELECT * { ?g ?p ?o FILTER(<urn:gossamer:path>(?g, ?g, ?p, ?o) = '/html') }",
        "SELECT DISTINCT (<urn:gossamer:path>(?g, ?s, ?p, ?o) AS ?path) { GRAPH ?g { ?s ?p ?o } }",
        "SELECT * { ?a a ?t . ?b a ?u FILTER(<urn:gossamer:is-a>(?t, ?u)) }",
    ],
)
def test_code_and_functions_of_the_server_are_refused(query: str) -> None:
    with pytest.raises(QueryRefused):
        server_query(query, bundled(), 10)


def test_a_backslash_before_a_letter_u_is_written_so_that_every_server_reads_the_same() -> None:
    from pyoxigraph import Literal

    assert literal_in_sparql(Literal("\\u0022")) == '"\\\\\\u00750022"'
    assert literal_in_sparql(Literal("\\\\U")) == '"\\\\\\\\\\u0055"'
    assert literal_in_sparql(Literal('\\"u')) == '"\\\\\\"u"'
