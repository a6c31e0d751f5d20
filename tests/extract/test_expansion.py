"""Vocabulary expansion, rule by rule; no content of a vocabulary makes it endless."""

import pytest
from tests.extract.pages import parses_again, read

from gossamer.extract.rdfa.entailment import (
    DCTERMS,
    FOAF,
    KNOWN,
    LARGEST,
    MOST_ADDED,
    MOST_RELATIONS,
    SAME_CLASS,
    SAME_PROPERTY,
    SUB_CLASS,
    SUB_PROPERTY,
    expanded,
    relations_in,
)
from gossamer.extract.rdfa.prefixes import USES_VOCABULARY
from gossamer.extract.terms import RDF_TYPE
from gossamer.values.page import Triple

V = "http://v.example/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
USES = Triple("<http://page.example/>", USES_VOCABULARY, f"<{V}>")


def v(name: str) -> str:
    return f"<{V}{name}>"


def added(facts: list[tuple[str, str, str]], relations: list[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    page = [USES, *[Triple(*fact) for fact in facts]]
    result = expanded(page, {V: [Triple(*relation) for relation in relations]})
    assert result[: len(page)] == page
    return [tuple(triple) for triple in result[len(page) :]]


@pytest.mark.parametrize(
    ("relation", "from_narrow", "from_wide"), [(SUB_PROPERTY, True, False), (SAME_PROPERTY, True, True)]
)
def test_a_fact_also_holds_for_the_wider_property(relation: str, from_narrow: bool, from_wide: bool) -> None:
    relations = [(v("narrow"), relation, v("wide"))]
    assert added([("_:a", v("narrow"), '"x"')], relations) == ([("_:a", v("wide"), '"x"')] if from_narrow else [])
    assert added([("_:a", v("wide"), '"x"')], relations) == ([("_:a", v("narrow"), '"x"')] if from_wide else [])


@pytest.mark.parametrize(("relation", "from_wide"), [(SUB_CLASS, False), (SAME_CLASS, True)])
def test_an_entity_also_belongs_to_the_wider_class(relation: str, from_wide: bool) -> None:
    relations = [(v("Narrow"), relation, v("Wide"))]
    assert added([("_:a", RDF_TYPE, v("Narrow"))], relations) == [("_:a", RDF_TYPE, v("Wide"))]
    assert added([("_:a", RDF_TYPE, v("Wide"))], relations) == ([("_:a", RDF_TYPE, v("Narrow"))] if from_wide else [])


def test_conclusions_lead_to_further_conclusions() -> None:
    relations = [
        (v("kind"), SUB_PROPERTY, RDF_TYPE),
        (v("A"), SUB_CLASS, v("B")),
        (v("B"), SAME_CLASS, v("C")),
        (v("C"), SUB_CLASS, v("A")),
    ]
    assert added([("_:a", v("kind"), v("A"))], relations) == [
        ("_:a", RDF_TYPE, v("A")),
        ("_:a", RDF_TYPE, v("B")),
        ("_:a", RDF_TYPE, v("C")),
    ]


def test_only_vocabularies_that_the_page_uses_apply() -> None:
    page = [Triple("_:a", v("narrow"), '"x"')]
    vocabularies = {V: [Triple(v("narrow"), SUB_PROPERTY, v("wide"))]}
    assert expanded(page, vocabularies) == page
    assert len(expanded([USES, *page], vocabularies)) == 3
    assert len(expanded([USES, *page], {"http://other.example/": vocabularies[V]})) == 2


def test_relations_that_the_page_states_about_its_own_terms_apply() -> None:
    assert added([(v("A"), SUB_CLASS, v("B")), ("_:a", RDF_TYPE, v("A"))], []) == [("_:a", RDF_TYPE, v("B"))]


def test_no_relations_between_terms_are_derived() -> None:
    assert added([(v("A"), SUB_CLASS, v("B"))], [(v("B"), SUB_CLASS, v("C"))]) == []


def test_properties_are_not_classes_and_literals_and_blank_nodes_are_neither() -> None:
    relations = [
        (v("p"), SUB_CLASS, v("q")),
        (v("A"), SUB_PROPERTY, v("B")),
        (v("C"), SUB_CLASS, "_:b"),
        (v("r"), SUB_PROPERTY, '"r"'),
        (v("C"), SUB_CLASS, v("C")),
        (v("r"), f"<{RDFS}domain>", v("C")),
    ]
    facts = [("_:a", v("p"), '"x"'), ("_:a", RDF_TYPE, v("A")), ("_:a", RDF_TYPE, v("C")), ("_:a", v("r"), '"x"')]
    assert added(facts, relations) == []


def test_an_existing_fact_is_not_added_again() -> None:
    facts = [("_:a", v("narrow"), '"x"'), ("_:a", v("wide"), '"x"')]
    assert added(facts, [(v("narrow"), SUB_PROPERTY, v("wide"))]) == []


def test_an_endless_vocabulary_is_cut() -> None:
    chain = [(v(str(n)), SUB_CLASS, v(str(n + 1))) for n in range(MOST_RELATIONS + 9)]
    facts = [(f"_:a{n}", RDF_TYPE, v("0")) for n in range(3)]
    assert len(added(facts, chain)) == MOST_ADDED


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        ("text/turtle; charset=utf-8", f"@prefix r: <{RDFS}> . <#A> r:subClassOf <#B>, [ a <#C> ] ; r:label 'x' ."),
        ("application/n-triples", f"<{V}#A> {SUB_CLASS} <{V}#B> ."),
        (
            "Application/RDF+XML",
            '<!DOCTYPE rdf:RDF [<!ENTITY rdfs "http://www.w3.org/2000/01/rdf-schema#">]>'
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="&rdfs;">'
            '<rdfs:Class rdf:about="#A"><rdfs:subClassOf rdf:resource="#B"/></rdfs:Class></rdf:RDF>',
        ),
    ],
)
def test_relations_are_read_from_each_format(media_type: str, document: str) -> None:
    assert relations_in(document.encode(), media_type, V) == [Triple(f"<{V}#A>", SUB_CLASS, f"<{V}#B>")]


def test_a_truncated_document_is_read_up_to_its_end() -> None:
    document = f"<{V}A> {SUB_CLASS} <{V}B> . <broken".encode()
    assert len(relations_in(document, "text/turtle", V)) == 1


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        ("text/html", b"<p>x"),
        ("text/turtle", b"\xff\xfe\x00" * 9),
        ("text/turtle", b"[" * 100_000),
        ("text/turtle", b" " * (LARGEST + 1)),
        ("application/rdf+xml", b""),
        ("application/rdf+xml", "<!DOCTYPE x>".encode("utf-16")),
    ],
)
def test_an_unreadable_document_has_no_relations(media_type: str, document: bytes) -> None:
    assert relations_in(document, media_type, V) == []


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">',
        "<!ENTITY b '&#38;a;'>",
        f'<!ENTITY b "{"x" * 100_000}">',
        '<!ENTITY % p "x">',
        "<!ENTITY b SYSTEM 'http://a.example/'>",
    ],
)
def test_documents_with_expanding_entities_are_refused(entities: str) -> None:
    document = (
        f"<!DOCTYPE r [{entities}]>"
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2000/01/rdf-schema#">'
        '<s:Class rdf:about="http://a/A"><s:subClassOf rdf:resource="http://a/B"/></s:Class>'
        f"<s:Class rdf:about='http://a/{'&b;' * 20}'/></rdf:RDF>"
    )
    assert relations_in(document.encode(), "application/rdf+xml", V) == []


def test_the_known_vocabularies_add_wider_facts_to_a_page() -> None:
    page = (
        f'<div vocab="{DCTERMS}" resource="#a"><b property="created">2026</b></div>'
        f'<div vocab="{FOAF}" resource="#b" typeof="Person"><b property="name">Ada</b></div>'
    )
    found = read(page)
    more = expanded(found.triples, KNOWN)[len(found.triples) :]
    predicates_and_objects = {(triple.predicate.rpartition("/")[2], triple.object) for triple in more}
    assert predicates_and_objects == {
        ("date>", '"2026"'),
        ("rdf-schema#label>", '"Ada"'),
        ("22-rdf-syntax-ns#type>", f"<{FOAF}Agent>"),
        ("22-rdf-syntax-ns#type>", "<http://schema.org/Person>"),
        ("22-rdf-syntax-ns#type>", f"<{DCTERMS}Agent>"),
    }
    assert "<http://purl.org/dc/elements/1.1/date>" in {triple.predicate for triple in more}
    assert parses_again(found._replace(triples=[*found.triples, *more]))
