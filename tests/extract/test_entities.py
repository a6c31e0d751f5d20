"""Facts as entities: nesting, circles, lists, literals, and bounds."""

import json

import pytest

from gossamer.extract.entities import DEEPEST, entities_of, literal
from gossamer.extract.terms import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE, XSD, literal_text, quoted
from gossamer.values.page import Triple


def fact(line: str) -> Triple:
    subject, predicate, value = line.split(" ", 2)
    return Triple(subject, RDF_TYPE if predicate == "a" else predicate, value)


def facts(*lines: str) -> list[Triple]:
    return [fact(line) for line in lines]


def test_an_entity_has_types_an_id_and_properties_in_order() -> None:
    entities = entities_of(facts('<a> <q> "2"', "<a> a <T>", '<a> <p> "1"', '<a> <q> "3"', "<a> a <U>"))
    assert entities == [{"type": ["T", "U"], "id": "a", "properties": {"q": ["2", "3"], "p": ["1"]}}]
    assert list(entities[0]["properties"]) == ["q", "p"]


def test_an_entity_is_nested_in_the_first_that_mentions_it() -> None:
    entities = entities_of(facts("<a> <p> _:b", '_:b <q> "x"', "<c> <p> <d>"))
    assert entities == [
        {"type": [], "id": "a", "properties": {"p": [{"type": [], "properties": {"q": ["x"]}}]}},
        {"type": [], "id": "c", "properties": {"p": [{"id": "d"}]}},
    ]


def test_an_entity_mentioned_twice_is_written_once_and_referred_to_by_its_id() -> None:
    entities = entities_of(facts("<a> <p> _:b", "<c> <p> _:b", '_:b <q> "x"'))
    assert entities[0]["properties"]["p"] == [{"type": [], "id": "_:b", "properties": {"q": ["x"]}}]
    assert entities[1]["properties"]["p"] == [{"id": "_:b"}]


def test_circles_are_cut() -> None:
    entities = entities_of(facts("_:a <knows> _:b", "_:b <knows> _:a", "<c> <same> <c>", "_:d <same> _:d"))
    inner = {"type": [], "properties": {"knows": [{"id": "_:a"}]}}
    assert entities == [
        {"type": [], "id": "_:a", "properties": {"knows": [inner]}},
        {"type": [], "id": "c", "properties": {"same": [{"id": "c"}]}},
        {"type": [], "id": "_:d", "properties": {"same": [{"id": "_:d"}]}},
    ]


def test_rdf_lists_become_lists() -> None:
    entities = entities_of(
        facts(
            "<a> <p> _:1",
            f'_:1 {RDF_FIRST} "x"',
            f"_:1 {RDF_REST} _:2",
            f"_:2 {RDF_FIRST} <b>",
            f"_:2 {RDF_REST} {RDF_NIL}",
            '<b> <q> "y"',
            f"<a> <none> {RDF_NIL}",
        )
    )
    inner = {"type": [], "id": "b", "properties": {"q": ["y"]}}
    assert entities == [{"type": [], "id": "a", "properties": {"p": [{"list": ["x", inner]}], "none": [{"list": []}]}}]


@pytest.mark.parametrize("end", ["_:1", "_:3", '"x"'])
def test_an_invalid_list_is_written_as_its_entities(end: str) -> None:
    entities = entities_of(facts("<a> <p> _:1", f'_:1 {RDF_FIRST} "x"', f"_:1 {RDF_REST} {end}"))
    (value,) = entities[0]["properties"]["p"]
    assert value["properties"][RDF_FIRST[1:-1]] == ["x"]


def test_no_number_of_facts_makes_the_result_deep_or_slow() -> None:
    chain = [Triple(f"_:{n}", "<p>", f"_:{n + 1}") for n in range(30_000)]
    entities = entities_of(chain)
    assert len(entities) >= 30_000 // DEEPEST and json.dumps(entities)
    cells = [Triple(f"_:{n}", *pair) for n in range(15_000) for pair in ((RDF_FIRST, '"x"'), (RDF_REST, f"_:{n + 1}"))]
    assert json.dumps(entities_of([Triple("<a>", "<p>", "_:0"), *cells]))
    diamond = [Triple(f"_:{n}", p, f"_:{n + 1}") for n in range(1000) for p in ("<p>", "<q>")]
    assert len(json.dumps(entities_of(diamond))) < 200_000


def test_every_subject_is_written_exactly_once() -> None:
    lines = ["_:a <p> _:b", "_:b <p> _:c", "_:c <p> _:a", "<d> <p> _:b", "<e> <p> <d>", "<e> a <T>"]
    text = json.dumps(entities_of(facts(*lines)))
    assert text.count('"properties"') == 5


def test_the_vocabulary_used_by_a_page_is_not_an_entity() -> None:
    assert entities_of(facts("<a> <http://www.w3.org/ns/rdfa#usesVocabulary> <http://schema.org/>")) == []


def test_a_type_that_is_a_blank_node_is_a_property() -> None:
    (entity,) = entities_of(facts("<a> a _:t"))
    assert entity["type"] == [] and entity["properties"] == {RDF_TYPE[1:-1]: [{"id": "_:t"}]}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ('"x"', "x"),
        ('"x"@en', {"value": "x", "language": "en"}),
        (f'"1"^^<{XSD}integer>', {"value": "1", "datatype": f"{XSD}integer"}),
        (f'"x"^^<{XSD}string>', "x"),
        (r'"a\"@b"', 'a"@b'),
        (r'"\u0041\U0001F600\\n\n\t"', "A😀\\n\n\t"),
    ],
)
def test_literals_are_written_as_values(term: str, expected: object) -> None:
    assert literal(term) == expected


@pytest.mark.parametrize("text", ["", 'quote " and \\ and \\n', "tab\t\x00\x1b\x7f\x9f é 😀", "\\u0041"])
def test_quoted_text_is_read_back_unchanged(text: str) -> None:
    assert literal_text(quoted(text)) == text
