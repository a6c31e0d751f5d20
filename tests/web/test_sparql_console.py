"""The SPARQL console: completion from the data, inference, descriptions, files."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlencode

import pytest
from pyoxigraph import NamedNode, RdfFormat, parse
from tests.web.site import LONG_S, Site

from gossamer.web.entities.queries import NAMING
from gossamer.web.responses import WebError
from gossamer.web.sparql.console import LONGEST_SHARED, parameters_of, query_for, stated_in
from gossamer.web.sparql.description import TermCounts, suggested
from gossamer.web.sparql.protocol import ProtocolQuery, from_url

SCHEMA = "http://schema.org/"
WORKS = f"SELECT DISTINCT ?x WHERE {{ ?x a <{SCHEMA}CreativeWork> }}"
CONSTRUCT = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 20"
RUNAWAY = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
VOID = "http://rdfs.org/ns/void#"
SD = "http://www.w3.org/ns/sparql-service-description#"


def rows(body: bytes) -> list[dict[str, dict[str, str]]]:
    bindings: list[dict[str, dict[str, str]]] = json.loads(body)["results"]["bindings"]
    return bindings


def test_M_A7_inference_is_optional_and_shown_in_the_result(site: Site) -> None:
    plain, inferred = site.sparql(WORKS), site.sparql(WORKS, inference="rdfs")
    assert len(rows(inferred.body)) > len(rows(plain.body))
    assert inferred.headers["x-gossamer-inference"] == "rdfs" and "x-gossamer-inference" not in plain.headers
    page = site.sparql(WORKS, "text/html", inference="rdfs").page
    assert page.css_first("input[name=inference]").attributes.get("checked", "no") is None
    note = page.css_first("details.inference")
    assert "inferred from the vocabularies" in note.text() and "SELECT DISTINCT ?x" in note.css_first("pre").text()
    assert page.css_first("details.inference .inferred") is not None, "marked not only by colour"
    files = [link.attributes["href"] for link in page.css(".files a")]
    assert all("inference=rdfs" in href for href in files)


def test_an_unknown_kind_of_inference_is_refused(site: Site) -> None:
    assert site.sparql(WORKS, inference="owl").status == 400
    assert from_url([("query", "ASK {}"), ("inference", "rdfs")]) == ProtocolQuery("ASK {}", has_inference=True)
    assert from_url([("inference", "none")]) == ProtocolQuery("")
    with pytest.raises(WebError, match="only supported inference"):
        from_url([("inference", "magic")])


def test_a_graph_is_shown_as_a_table_with_links_to_files(site: Site) -> None:
    page = site.sparql(CONSTRUCT, "text/html").page
    assert [cell.text() for cell in page.css("#rows th")] == ["subject", "property", "value"]
    shown = page.css("#rows tbody tr")
    assert len(shown) == 20 and all(len(row.css("td[data-key]")) == 3 for row in shown)
    for link in page.css(".files a[download]"):
        answer = site.ask(str(link.attributes["href"]), accept="text/html")
        assert answer.status == 200 and answer.body


def test_entities_in_a_graph_are_shown_with_their_names(site: Site) -> None:
    named = rows(
        site.sparql(
            f"SELECT ?x ?name {{ ?x <{SCHEMA}name> ?name FILTER(isIRI(?x) && LANG(?name) = 'en') }} LIMIT 1"
        ).body
    )[0]
    iri, name = named["x"]["value"], named["name"]["value"]
    query = (
        f"CONSTRUCT {{ <http://a.test/x> <{SCHEMA}about> <{iri}> . <http://a.test/x> a <{SCHEMA}Thing> }} WHERE {{}}"
    )
    cells = site.sparql(query, "text/html").page.css("#rows td")
    names = {cell.attributes["data-key"]: cell.attributes.get("data-name") for cell in cells}
    assert names[f"uri {iri}"] == name
    assert names["uri http://a.test/x"] is names[f"uri {SCHEMA}Thing"] is None, "they have no name"
    page = site.sparql("CONSTRUCT { ?x a ?kind } WHERE { ?x a ?kind FILTER isBlank(?x) } LIMIT 3", "text/html").page
    first = page.css_first("#rows td")
    assert str(first.attributes["data-name"]).startswith("unnamed "), "the label of a blank node is not readable"


def test_the_best_name_is_used_and_blank_names_are_not() -> None:
    entity, label, title = ({"type": "uri", "value": one} for one in ("http://a.test/x", NAMING[1], NAMING[4]))
    title_en, label_de, label_en = (
        {"type": "literal", "value": text, "xml:lang": tag} for text, tag in (("T", "en"), ("Ding", "de"), ("It", "en"))
    )
    facts = [(entity, title, title_en), (entity, label, label_de), (entity, label, label_en)]
    assert stated_in(facts) == stated_in(facts[::-1]) == {"uri http://a.test/x": "It"}
    assert stated_in([(entity, label, {"type": "literal", "value": " "}), (entity, label, entity)]) == {}
    assert query_for(["http://a.test/" + "x" * 7000] * 20).count("http://a.test/") == 7
    assert "javascript" not in query_for(["javascript:{}> } DROP ALL"])


@pytest.mark.parametrize(
    ("kind", "form"),
    [("ttl", RdfFormat.TURTLE), ("nt", RdfFormat.N_TRIPLES), ("jsonld", RdfFormat.JSON_LD), ("rdf", RdfFormat.RDF_XML),
     ("json", RdfFormat.JSON_LD), ("xml", RdfFormat.RDF_XML)],
)  # fmt: skip
def test_a_graph_is_the_same_in_every_format(site: Site, kind: str, form: RdfFormat) -> None:
    query = (
        f"CONSTRUCT {{ ?s <{SCHEMA}name> ?o }} WHERE {{ ?s <{SCHEMA}name> ?o FILTER isIRI(?s) }} ORDER BY ?s LIMIT 9"
    )
    lines = {str(quad) for quad in parse(site.sparql(query, "application/n-triples").body, RdfFormat.N_TRIPLES)}
    answer = site.ask(f"/sparql.{kind}?" + urlencode({"query": query}))
    assert answer.headers["content-type"].partition(";")[0] == form.media_type
    assert lines and {str(quad) for quad in parse(answer.body, form)} == lines


def test_a_graph_that_rdf_xml_cannot_express_is_refused_with_a_message(site: Site) -> None:
    query = "CONSTRUCT { ?s <http://a.test/123> ?o } WHERE { ?s ?p ?o } LIMIT 1"
    answer = site.sparql(query, "application/rdf+xml")
    assert answer.status == 400 and "Turtle" in answer.text


def test_a_syntax_error_is_shown_with_its_line_and_a_hint(site: Site) -> None:
    page = site.sparql("SELECT *\nWHERE { ?x schema:name ?y }", "text/html").page
    alert = page.css_first("#answer [role=alert]")
    assert alert.attributes["data-line"] == "2" and "PREFIX schema: <http://schema.org/>" in alert.text()


def test_completion_starts_with_the_terms_that_the_collection_uses(site: Site) -> None:
    answer = site.ask("/sparql/terms.json?prefix=schema:", accept="application/json").json
    times = [term["times"] for term in answer["terms"]]
    assert times[0] > 0 and times == sorted(times, reverse=True)
    assert answer["prefixes"]["schema"] == SCHEMA
    classes = site.ask("/sparql/terms.json?prefix=schema:Rec&kind=class").json["terms"]
    assert classes[0]["short"] == "schema:Recipe" and classes[0]["times"] > 0
    unused = site.ask("/sparql/terms.json?prefix=gr:BusinessEnt&kind=class").json["terms"]
    assert [term["short"] for term in unused][:1] == ["gr:BusinessEntity"] and unused[0]["times"] == 0
    assert site.ask("/sparql/terms.json?kind=nonsense").status == 400
    assert site.ask("/sparql/prefixes.json").json["foaf"] == "http://xmlns.com/foaf/0.1/"


def test_suggestions_are_ordered_by_use() -> None:
    counted = TermCounts({SCHEMA + "Person": 5, "http://my.test/Person": 9}, {"http://my.test/odd name": 1}, 3, 1)
    first, second, *_ = suggested(counted, "pers", None, 10).terms
    assert (first.short, first.prefix, second.short) == ("<http://my.test/Person>", "", "schema:Person")
    assert suggested(counted, "https://schema", "class", 2).terms == []


@pytest.mark.parametrize(
    ("target", "accept"),
    [
        ("/sparql", "text/turtle"),
        ("/sparql", "*/*"),
        ("/sparql/description.ttl", "text/html"),
        ("/sparql", "application/ld+json"),
    ],
)
def test_the_endpoint_describes_itself(site: Site, target: str, accept: str) -> None:
    answer = site.ask(target, accept=accept)
    form = RdfFormat.from_media_type(answer.headers["content-type"].partition(";")[0])
    assert form is not None
    facts = {(quad.predicate.value.removeprefix(SD), str(quad.object)) for quad in parse(answer.body, form)}
    assert ("endpoint", f"<{site.address}/sparql>") in facts
    assert ("supportedLanguage", f"<{SD}SPARQL11Query>") in facts and ("feature", f"<{SD}UnionDefaultGraph>") in facts
    assert len([one for one in facts if one[0] == "resultFormat"]) == 8
    assert ("extensionFunction", "<urn:gossamer:is-a>") in facts


@pytest.mark.parametrize("target", ["/void.ttl", "/.well-known/void"])
def test_void_counts_pages_facts_and_classes(site: Site, target: str) -> None:
    answer = site.ask(target, accept="text/turtle")
    quads = list(parse(answer.body, RdfFormat.TURTLE))
    of_set = {
        quad.predicate.value.removeprefix(VOID): quad.object.value
        for quad in quads
        if isinstance(quad.subject, NamedNode)
    }
    pages = (
        "SELECT (COUNT(DISTINCT ?g) AS ?n) WHERE { GRAPH <urn:gossamer:provenance> { ?g <urn:gossamer:capture> ?c } }"
    )
    facts = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g != <urn:gossamer:provenance>) }"
    assert of_set["documents"] == rows(site.sparql(pages).body)[0]["n"]["value"]
    assert of_set["triples"] == rows(site.sparql(facts).body)[0]["n"]["value"]
    parts = [quad for quad in quads if quad.predicate.value == VOID + "classPartition"]
    assert len(parts) == int(of_set["classes"]) > 5


def test_a_query_too_long_for_a_link_works_by_post_and_a_note_says_so(site: Site) -> None:
    long = WORKS + " #" + "x" * LONGEST_SHARED
    page = site.ask(
        "/sparql",
        "POST",
        urlencode({"query": long}).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    ).page
    assert "too long for a link" in page.css_first("#answer").text() and page.css("#answer .files a") == []
    with_inference = ProtocolQuery("ASK {}", has_inference=True)
    assert parameters_of(ProtocolQuery(long)) == "" and parameters_of(with_inference).endswith("&inference=rdfs")


def test_F_W2_a_typed_query_is_shown_as_text_only(site: Site) -> None:
    bad = "\"><script>window.hacked=1</script>'<img src=x onerror=alert(1)>"
    for query in (bad, f"SELECT ('{bad[:2]}' AS ?x) {{}} # {bad}", f"SELECT * {{ ?x <http://{bad}> ?y }}"):
        for more in ({}, {"inference": "rdfs"}):
            page = site.sparql(query, "text/html", **more).page
            assert [script.attributes.get("src") for script in page.css("script") if script.text().strip()] == []
            assert page.css("img[onerror]") == []


def test_F_W12_workers_are_free_again_after_a_thousand_clients_disconnect_during_a_query(site: Site) -> None:
    request = f"GET /sparql?query={quote(RUNAWAY)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n".encode()

    def send_and_disconnect(_: int) -> None:
        with socket.create_connection(("127.0.0.1", site.port)) as connection:
            connection.sendall(request)

    with ThreadPoolExecutor(50) as clients:
        list(clients.map(send_and_disconnect, range(1000)))
    started = time.monotonic()
    while (answer := site.sparql("ASK { ?s ?p ?o }")).status == 503:
        assert time.monotonic() - started < LONG_S, "a thousand runaways would take days"
    assert answer.json["boolean"] is True


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("ASK { FILTER regex(\"" + "a" * 60 + "b\", \"(a+)+$\") }", 200),
        ("SELECT * WHERE " + "(" * 10_000, 400),
        ("*", 400),
        ("ASK { ?s ?p '\\ud800' }", 400),
        ("SELECT * WHERE { ?s ?p ?o } OFFSET 1000000000", 200),
    ],
)  # fmt: skip
def test_F_W13_W14_hostile_queries_are_answered_on_the_page_too(site: Site, query: str, status: int) -> None:
    for more in ({}, {"inference": "rdfs"}):
        assert site.sparql(query, "text/html", **more).status == status


def test_F_W14_a_huge_graph_is_cut_and_a_header_says_so(site: Site) -> None:
    answer = site.sparql("CONSTRUCT { ?a ?b ?f } WHERE { ?a ?b ?c . ?d ?e ?f }", "application/n-triples")
    assert answer.headers["x-gossamer-truncated"] == "yes" and answer.text.count(" .\n") == 10_000
