"""The relations between terms in the bundled vocabularies and in the user's own."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.errors import ConfigError
from gossamer.extract.vocabularies import Vocabularies, bundled, label_of, namespace_of, with_own

SCHEMA, SECURE = "http://schema.org/", "https://schema.org/"
FOAF = "http://xmlns.com/foaf/0.1/"
DC, DCTERMS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
PREFIXES = f"@prefix rdfs: <{RDFS}> . @prefix schema: <{SCHEMA}> . @prefix my: <http://my.test/> .\n"


def own(text: str) -> Vocabularies:
    return with_own((PREFIXES + text).encode())


def test_M_A7_superclasses_come_nearest_first() -> None:
    assert bundled().superclasses(SCHEMA + "Restaurant") == tuple(
        SCHEMA + name for name in ("FoodEstablishment", "LocalBusiness", "Organization", "Place", "Thing")
    )
    assert bundled().superclasses(SCHEMA + "Thing") == ()
    assert bundled().superclasses("http://unknown.test/Thing") == ()


def test_M_A7_subclasses_are_all_classes_below() -> None:
    below = bundled().subclasses(SCHEMA + "Organization")
    assert len(below) > 150 and SCHEMA + "Restaurant" in below and SCHEMA + "Organization" not in below
    assert SCHEMA + "Person" not in below


def test_M_A7_properties_have_wider_properties() -> None:
    assert DC + "creator" in bundled().superproperties(DCTERMS + "creator")
    assert bundled().superproperties(FOAF + "name") == (RDFS + "label",)
    assert FOAF + "img" in bundled().subproperties(FOAF + "depiction")


def test_schema_org_terms_are_returned_in_one_spelling() -> None:
    assert bundled().superclasses(SECURE + "Person") == (SCHEMA + "Thing",)
    assert SCHEMA + "Person" in bundled().subclasses(SECURE + "Thing")
    person = bundled().term(SECURE + "Person")
    assert person is not None and (person.iri, person.name, person.namespace) == (SCHEMA + "Person", "Person", SCHEMA)
    assert bundled().is_a(SECURE + "Restaurant", SCHEMA + "Organization")
    assert not bundled().is_a(SCHEMA + "Organization", SCHEMA + "Restaurant")


def test_names_are_expanded_and_prefixes_found() -> None:
    assert bundled().expanded("schema:Person") == SCHEMA + "Person"
    assert bundled().expanded("dct:creator") == DCTERMS + "creator"
    assert bundled().expanded("unknown:Person") is None and bundled().expanded("Person") is None
    assert bundled().prefix_of(SCHEMA) == bundled().prefix_of(SECURE) == "schema"
    assert bundled().prefix_of("http://unknown.test/") is None


@pytest.mark.parametrize(
    ("iri", "namespace"),
    [
        (SCHEMA + "Person", SCHEMA),
        (SECURE + "Person", SCHEMA),
        (DC + "creator", DC),
        ("http://a.test/b/c", "http://a.test/b/"),
        ("http://a.test/b#c", "http://a.test/b#"),
        ("urn:isbn:1", "urn:"),
        ("odd", "odd"),
    ],
)
def test_a_namespace_is_the_part_before_the_name(iri: str, namespace: str) -> None:
    assert namespace_of(iri) == namespace


def test_labels_are_made_from_names() -> None:
    assert [label_of(name) for name in ("givenName", "ImageObject", "APIReference", "country-name", "é")] == [
        "given name", "image object", "API reference", "country name", "é"]  # fmt: skip


def test_terms_are_found_by_their_beginning() -> None:
    assert [term.iri for term in bundled().terms("schema:Perso", "class")] == [SCHEMA + "Person"]
    assert bundled().terms("person")[0].name == "Person"
    assert all(term.kind == "property" for term in bundled().terms("foaf:", "property"))
    assert bundled().terms("unknown:x") == []
    assert len(bundled().terms("", at_most=7)) == 7


def test_the_bundle_is_complete_and_small() -> None:
    known = bundled()
    kinds = [term.kind for term in known.terms_by_iri.values() if term.namespace == SCHEMA]
    assert kinds.count("class") > 800 and kinds.count("property") > 1400
    assert set(known.prefixes) == {"rdf", "rdfs", "owl", "schema", "foaf", "dc", "dcterms", "skos", "sioc", "gr", "vcard", "dcat", "prov", "og", "as"}  # fmt: skip  # noqa: E501
    for order, kind in ((known.classes, "class"), (known.properties, "property")):
        for low, names in order.wider.items():
            assert known.terms_by_iri[low].kind == kind and low not in order.above(low)
            assert all(low in order.below(high) for high in names)


def test_M_A7_own_relations_are_added_to_the_bundle() -> None:
    mine = own(
        "my:Chef rdfs:subClassOf schema:Person . my:nickname rdfs:subPropertyOf schema:alternateName . my:x a my:y ."
    )
    assert mine.superclasses("http://my.test/Chef") == (SCHEMA + "Person", SCHEMA + "Thing")
    assert "http://my.test/Chef" in mine.subclasses(SECURE + "Thing")
    assert mine.superproperties("http://my.test/nickname")[0] == SCHEMA + "alternateName"
    assert mine.expanded("my:Chef") == "http://my.test/Chef"
    assert mine.terms("my:")[0].label == "chef"
    assert ("http://my.test/Chef", SCHEMA + "Person") in mine.own
    assert bundled().superclasses("http://my.test/Chef") == (), "the bundle is unchanged"


def test_a_circle_is_followed_once() -> None:
    mine = own("my:a rdfs:subClassOf my:b . my:b rdfs:subClassOf my:c . my:c rdfs:subClassOf my:a, my:c .")
    assert set(mine.superclasses("http://my.test/a")) == {"http://my.test/b", "http://my.test/c"}
    assert set(mine.subclasses("http://my.test/a")) == {"http://my.test/b", "http://my.test/c"}


def test_without_own_relations_the_bundle_is_used() -> None:
    assert with_own(b" \n") is bundled()


@pytest.mark.parametrize("invalid", [b"my:a my:b", b"\xff\xfe", b"<a> <b> <c> .", b" " * 10 + b"x" * (1 << 20)])
def test_invalid_turtle_is_refused_with_a_message(invalid: bytes) -> None:
    with pytest.raises(ConfigError, match=r"your vocabulary\.ttl"):
        with_own(invalid)


def test_a_long_chain_needs_no_deep_stack() -> None:
    links = 4 * sys.getrecursionlimit()
    mine = own("".join(f"my:c{n} rdfs:subClassOf my:c{n + 1} .\n" for n in range(links)))
    assert len(mine.superclasses("http://my.test/c0")) == links


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20))
def test_above_and_below_are_inverse_relations(pairs: list[tuple[int, int]]) -> None:
    mine = own("".join(f"my:c{low} rdfs:subClassOf my:c{high} .\n" for low, high in pairs))
    names = [f"http://my.test/c{n}" for n in range(7)]
    for low in names:
        for high in names:
            assert (high in mine.superclasses(low)) == (low in mine.subclasses(high))
