"""Inferences from the vocabularies: queries find them and say so; and errors in queries are explained."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest
from tests.views.facts.forms import FORMS, opened_queries, stored
from tests.views.facts.pages import page

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import bundled
from gossamer.views.facts.inference import BRACKETS, NO_BLANKS, NO_SHORT_FORM, PATHS, VARIABLES, widened
from gossamer.views.facts.query_job import SparqlResult
from gossamer.views.facts.query_text import explained
from gossamer.views.facts.sparql import QueryLimits

JSON = "application/sparql-results+json"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
S = "http://schema.org/"
PREFIX = f"PREFIX schema: <{S}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
OWN = f"<http://my.test/Pub> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{S}Place> ."


@pytest.fixture(scope="module", params=FORMS)
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("inferred")
    one = page(
        "http://one.test/",
        f"<http://r1> {TYPE} <{S}Restaurant>",
        f"<http://r1> {TYPE} <{S}Organization>",
        f'<http://r1> <{S}name> "The Anchor"',
        f"<http://p1> {TYPE} <{S}Person>",
        '<http://p1> <http://xmlns.com/foaf/0.1/name> "Ada"',
        f'<http://p1> <{S}name> "Ada"',
    )
    two = page(
        "http://two.test/",
        f"<http://r2> {TYPE} <{S}Bakery>",
        f'<http://r2> <{S}name> "Bread, \\"fresh\\""@en',
        f"<http://pub> {TYPE} <http://my.test/Pub>",
        f"<http://odd> {TYPE} <http://unknown.test/Class>",
    )
    (root / "vocabulary.ttl").write_text(OWN)
    with stored(request.param, root, [one, two]):
        yield root


def ask(root: Path, *queries: str, has_inference: bool = True, accept: str = JSON) -> list[SparqlResult]:
    async def ask_all() -> list[SparqlResult]:
        async with opened_queries(root, QueryLimits(1), root / "vocabulary.ttl") as pool:
            return [await pool.ask(PREFIX + query, accept, has_inference=has_inference) for query in queries]

    return asyncio.run(ask_all())


def rows(result: SparqlResult) -> list[tuple[str, ...]]:
    answer = json.loads(result.body)
    names = answer["head"]["vars"]
    return sorted(tuple(row[name]["value"] for name in names if name in row) for row in answer["results"]["bindings"])


def test_M_A7_a_class_also_finds_entities_of_its_subclasses_once_each(facts: Path) -> None:
    query = "SELECT * { ?x a schema:Organization }"
    [plain], [inferred] = ask(facts, query, has_inference=False), ask(facts, query)
    assert rows(plain) == [("http://r1",)] and plain.notes == () and plain.query == ""
    assert rows(inferred) == [("http://r1",), ("http://r2",)], "a fact that is stated twice or inferred counts once"
    assert f"<{S}Bakery>" in inferred.notes[0] and "SELECT DISTINCT ?x" in inferred.query


def test_M_A7_a_property_also_finds_its_subproperties_once_each(facts: Path) -> None:
    labels, count = ask(facts, "SELECT ?x ?l { ?x rdfs:label ?l }", "SELECT (COUNT(*) AS ?n) { ?x rdfs:label ?l }")
    assert [label for _, label in rows(labels)] == ["Ada", "The Anchor", 'Bread, "fresh"']
    assert rows(count) == [("3",)]


def test_M_A7_a_variable_as_type_also_takes_the_superclasses(facts: Path) -> None:
    [result] = ask(facts, "SELECT ?t { <http://r1> a ?t }")
    names = {iri.removeprefix(S) for (iri,) in rows(result)}
    assert names == {"Restaurant", "FoodEstablishment", "LocalBusiness", "Organization", "Place", "Thing"}


def test_M_A7_relations_in_the_user_s_vocabulary_count(facts: Path) -> None:
    [result] = ask(facts, "SELECT ?x { ?x a schema:Place }")
    assert ("http://pub",) in rows(result)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?n { ?x a schema:Organization ; schema:name ?n }", ["Bread, \"fresh\"", "The Anchor"]),
        ("SELECT ?n { ?x schema:name ?n ; a schema:Organization, schema:Place . }", ["Bread, \"fresh\"", "The Anchor"]),
        ("SELECT ?n WHERE { ?x a schema:Bakery . OPTIONAL { ?x rdfs:label ?n } }", ['Bread, "fresh"']),
        ("SELECT ?g { GRAPH ?g { ?x a schema:Organization } }", ["http://one.test/", "http://two.test/"]),
        ("SELECT ?g { GRAPH ?g { <http://r2> a schema:Organization } }", ["http://two.test/"]),
        ("SELECT ?n { GRAPH ?g { ?x a schema:Bakery } GRAPH ?g { ?x schema:name ?n } }", ['Bread, "fresh"']),
        ("SELECT ?x { GRAPH <http://two.test/> { ?x a schema:Thing } }", ["http://pub", "http://r2"]),
        ("SELECT ?x { ?x schema:name ?n FILTER EXISTS { ?x a schema:Person } }", ["http://p1"]),
        ("SELECT ?x { ?x schema:name ?n FILTER NOT EXISTS { ?x a schema:Organization } }", ["http://p1"]),
        ("SELECT ?x { { ?x a schema:Person } UNION { ?x a schema:Bakery } }", ["http://p1", "http://r2"]),
        ("SELECT ?x { ?x a schema:Organization FILTER(STRLEN(STR(?x)) >= 3 && ?x != <http://r1>) }", ["http://r2"]),
        ("SELECT ?x { { SELECT DISTINCT ?x { ?x a schema:Organization } ORDER BY ?x LIMIT 1 } }", ["http://r1"]),
        ("SELECT ?x { VALUES ?x { <http://r2> } ?x a schema:Place BIND(1 AS ?y) }", ["http://r2"]),
        ('SELECT ?x { ?x schema:name "Bread, \\"fresh\\""@en }', ["http://r2"]),
        ("SELECT ?x { ?x a schema:Organization . MINUS { ?x a schema:Restaurant } }", ["http://r2"]),
        ("SELECT ?x { <http://r2> a schema:Organization . ?x a schema:Person }", ["http://p1"]),
        ("SELECT ?x { # a comment } here\n ?x a # and\n schema:Organization . FILTER regex(str(?x), '2') }", ["http://r2"]),
        ("SELECT (COUNT(*) AS ?n) { ?inferred0 a schema:Thing } HAVING (COUNT(*) > 0)", ["4"]),
        ("SELECT ?x FROM <http://two.test/> { ?x a schema:Organization }", ["http://r2"]),
    ],
)  # fmt: skip
def test_M_A7_inference_works_in_every_part_of_a_query(facts: Path, query: str, expected: list[str]) -> None:
    [result] = ask(facts, query)
    assert [row[0] for row in rows(result)] == expected


def test_construct_and_ask_queries_use_inference_too(facts: Path) -> None:
    graph, truth = ask(
        facts, "CONSTRUCT { ?x a schema:Firm } WHERE { ?x a schema:Organization }", "ASK { <http://r2> a schema:Thing }"
    )
    assert graph.body.count(b"/Firm") == 2
    assert json.loads(truth.body)["boolean"] is True


def test_parts_of_a_query_without_inference_are_noted(facts: Path) -> None:
    path, variable, bracket = ask(
        facts,
        "SELECT * { ?x a/rdfs:subClassOf* ?y }",
        "SELECT * { <http://r2> ?p ?o }",
        "SELECT * { ?x a [ rdfs:label ?y ] }",
    )
    assert path.notes == (PATHS,) and variable.notes == (VARIABLES,) and bracket.notes == (BRACKETS,)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * { [] a schema:Organization }", NO_BLANKS),
        ("SELECT * { _:x a schema:Organization }", NO_BLANKS),
        ("CONSTRUCT WHERE { ?x a schema:Organization }", NO_SHORT_FORM),
        ("SELECT * { << ?a ?b ?c >> ?d ?e }", "triple terms"),
        ("SELECT * { ?x a }", "cannot be parsed at line 2"),
    ],
)
def test_a_query_that_cannot_be_widened_is_refused_with_the_reason(facts: Path, query: str, words: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        ask(facts, query)
    assert words in str(refused.value)


def test_M_A7_functions_query_the_vocabularies(facts: Path) -> None:
    below, properties, none = ask(
        facts,
        "SELECT DISTINCT ?t { ?x a ?t FILTER(<urn:gossamer:is-a>(?t, schema:LocalBusiness)) }",
        "SELECT DISTINCT ?p { ?x ?p ?o FILTER(<urn:gossamer:specialises>(?p, rdfs:label)) }",
        "SELECT ?x { ?x schema:name ?n FILTER(<urn:gossamer:is-a>(?n, schema:Thing)) }",
        has_inference=False,
    )
    assert rows(below) == [(S + "Bakery",), (S + "Restaurant",)]
    assert len(rows(properties)) == 2
    assert rows(none) == []


def test_a_user_s_vocabulary_that_is_not_turtle_is_refused(facts: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").symlink_to(facts / "checkpoints")
    (tmp_path / "vocabulary.ttl").write_text("nonsense")
    with pytest.raises(QueryRefused, match=r"your vocabulary\.ttl"):
        ask(tmp_path, "ASK {}")


EVERY_FORM = """
PREFIX s: <http://schema.org/>
SELECT DISTINCT ?a (COUNT(?b) AS ?n) (GROUP_CONCAT(?c ; separator=", ") AS ?all) FROM NAMED <http://g> WHERE {
  ?a a s:Thing ; s:name "x"@en, '''y''', 1.5, true ; ; s:url/^s:name* ?c ; !(s:a|^s:b) ?d .
  ?d (s:p|s:q)+ (1 2 "3"^^<http://t>) . [ s:p [] ] s:q ?e . [] s:name ?f .
  OPTIONAL { ?a s:x ?g . FILTER(?g < 5 || !BOUND(?g)) }
  { ?a s:y ?h } UNION { GRAPH ?i { ?a ?j _:k . _:k s:z ?l } }
  FILTER NOT EXISTS { ?a s:m ?o } MINUS { ?a s:r ?q }
  BIND(IF(?a = ?b, "p", CONCAT("{", "}")) AS ?s) VALUES (?t ?u) { (UNDEF 1) ("a" <http://v>) }
  { SELECT ?a { ?a s:w ?x } GROUP BY ?a HAVING (COUNT(*) > 1) LIMIT 5 }
} GROUP BY ?a ORDER BY DESC(?n) LIMIT 10 OFFSET 2 VALUES ?b { 1 }
"""


def test_a_query_keeps_its_meaning_when_nothing_can_be_inferred() -> None:
    untouched = widened(EVERY_FORM, bundled(), lambda kind, iri: False)
    assert untouched.query == EVERY_FORM


def test_a_query_with_every_form_can_still_be_parsed_when_widened() -> None:
    query = EVERY_FORM.replace("[] s:name ?f .", "").replace('s:name "x"', 's:identifier "x"')
    wide = widened(query, bundled(), lambda kind, iri: iri.endswith(("Bakery", "isbn", "url")))
    assert wide.query.count("SELECT DISTINCT") > 3
    pyoxigraph.Store().query(wide.query)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT *\nWHERE { ?s schema:name ?o }", "Add this line at the top: PREFIX schema: <http://schema.org/>"),
        ("SELECT * WHERE { ?s my:name ?o }", "prefix my: is not declared"),
        ("SELECT * WHERE { ?s ?p ?o", "1 of its { are not closed"),
        ("SELECT * WHERE { ?s ?p }", "three parts"),
        ("SELECT ?x { ?x ?y ?z } GROUP BY ?y", "SELECT may list only grouped variables"),
        ("ASK { ?s ?p <a b> }", "column 18"),
        ("SELECT *\nWHERE {\n ?s ?p ?o . FILTER(?x ! ?y) }", "line 3, column"),
        ("SELEC", "line 1, column"),
    ],
)
def test_syntax_errors_are_explained_with_their_place(query: str, words: str) -> None:
    with pytest.raises(SyntaxError) as error:
        pyoxigraph.Store().query(query)
    message = explained(query, str(error.value))
    assert words in message and "\\u{" not in message and "[_]" not in message, message
