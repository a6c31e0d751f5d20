"""How facts, names and numbers are shown."""

from gossamer.web.entities.facts import entities_of
from gossamer.web.names import named, short, term_of
from gossamer.web.render import ago, moment, number, size

PAGE = "http://a.test/page"
NAME = "http://schema.org/name"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def fact(entity: str, predicate: str, value: str) -> dict[str, dict[str, str]]:
    def term(text: str) -> dict[str, str]:
        kind = "bnode" if text.startswith("_:") else "uri" if ":" in text else "literal"
        return {"type": kind, "value": text.removeprefix("_:")}

    return {"thing": term(entity), "property": {"type": "uri", "value": predicate}, "value": term(value)}


def test_well_known_names_are_short() -> None:
    assert short("http://schema.org/name") == "schema:name"
    assert short("http://schema.org/") == "http://schema.org/"
    assert short("http://unknown.test/x") == "http://unknown.test/x"
    assert short('http://schema.org/"><b>') == 'http://schema.org/"><b>'
    assert short("") == "" and short("#") == "#"
    assert named("http://a.test/ns#Person").name == "Person"


def test_an_iri_links_to_its_page_view_or_to_its_entity_page() -> None:
    known = term_of({"type": "uri", "value": PAGE}, {PAGE})
    other = term_of({"type": "uri", "value": "http://b.test/x"}, {PAGE})
    odd = term_of({"type": "uri", "value": "javascript:alert(1)"})
    broken = term_of({"type": "uri", "value": "http://b.test/> ?p ?o } } #"})
    assert known.href == "/page?url=http%3A%2F%2Fa.test%2Fpage"
    assert other.href == "/entity?iri=http%3A%2F%2Fb.test%2Fx" and odd.href == "/entity?iri=javascript%3Aalert%281%29"
    assert broken.href == ""


def test_literals_are_shown_with_their_language_or_datatype() -> None:
    assert term_of({"type": "literal", "value": "Haus", "xml:lang": "de"}).note == "de"
    whole = term_of({"type": "literal", "value": "7", "datatype": "http://www.w3.org/2001/XMLSchema#integer"})
    day = term_of({"type": "literal", "value": "2026-01-01", "datatype": "http://www.w3.org/2001/XMLSchema#date"})
    assert whole.is_number and not whole.note and day.note == "date"
    assert term_of({}).text == ""


def test_facts_are_grouped_by_entity_and_the_page_comes_last() -> None:
    rows = [
        fact(PAGE, "http://ogp.me/ns#title", "Of the page"),
        fact("_:b0", TYPE, "http://schema.org/Place"),
        fact("http://a.test/page#it", "http://schema.org/location", "_:b0"),
        fact("http://a.test/page#it", NAME, "A book"),
        fact("http://a.test/page#it", TYPE, "http://schema.org/Book"),
    ]
    first, place, page = entities_of(rows, PAGE, set())
    assert (first.name, place.name, page.name) == ("A book", "Entity 2", "This page")
    assert (first.facts[0].property, first.facts[0].value.text) == ("is a", "schema:Book")
    where = next(one for one in first.facts if one.property == "schema:location")
    assert where.value.href == f"#{place.anchor}" and where.value.text == "Entity 2"


def test_numbers_and_times_are_readable() -> None:
    assert moment(1_700_000_000_123_456) == "2023-11-14 22:13:20 UTC"
    assert (ago(0.26), ago(61), ago(7_300), ago(200_000)) == ("0.3 s", "61 s", "2 hours", "2 days")
    assert (size(12), size(12_345), size(12_345_678)) == ("12 bytes", "12.3 kB", "12.3 MB")
    assert number(1234567) == "1,234,567"
