"""Microformats as facts."""

from pathlib import Path

import pytest

from gossamer.extract.microformats import rdf as vocabulary
from gossamer.extract.microformats.rdf import read_microformats, time_literal
from gossamer.extract.source import FoundFacts, Source
from gossamer.extract.terms import RDF_TYPE, Labels
from gossamer.parse.html.tree import parse_html, scan_html

ADDRESS = "https://blog.example/posts/1"
DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
XSD = "http://www.w3.org/2001/XMLSchema#"


def found_in(markup: str, collects_notices: bool = False) -> FoundFacts:
    body = markup.encode()
    survey = scan_html(parse_html(body).tree).survey()
    return read_microformats(Source(survey, ADDRESS, ADDRESS, Labels(1), body, collects_notices=collects_notices))


def facts(markup: str) -> list[str]:
    """The facts with short names."""
    written = []
    for triple in found_in(markup).triples:
        line = " ".join(triple).replace("_:c0000000000000001n", "_:").replace(f"<{vocabulary.SCHEMA}", "<s:")
        line = line.replace(f"<{vocabulary.OWN}", "<mf:").replace(f"<{vocabulary.XFN}", "<xfn:")
        written.append(line.replace(RDF_TYPE, "a").replace(f"<{XSD}", "<xsd:"))
    return written


def test_an_item_has_its_own_type_and_the_schema_org_type() -> None:
    assert facts('<a class="h-event" href="/e">Party</a>') == [
        "_:1 a <mf:h-event>",
        "_:1 a <s:Event>",
        '_:1 <s:name> "Party"',
        "_:1 <s:url> <https://blog.example/e>",
    ]


def test_a_property_unknown_to_schema_org_keeps_its_name() -> None:
    page = '<div class="h-entry"><a class="u-like-of" href="/x">x</a></div>'
    assert "_:1 <mf:like-of> <https://blog.example/x>" in facts(page)


def test_uid_names_an_item_and_url_does_not() -> None:
    named = facts('<p class="h-card"><a class="u-uid u-url p-name" href="/ann">Ann</a></p>')
    assert '<https://blog.example/ann> <s:name> "Ann"' in named
    assert '_:1 <s:name> "Ann"' in facts('<p class="h-card"><a class="u-url p-name" href="/ann">Ann</a></p>')


def test_nested_items_are_labelled_after_enclosing_ones() -> None:
    page = (
        '<div class="h-feed"><a class="p-author h-card" href="/a">A</a>'
        '<div class="h-entry"><a class="u-url p-name" href="/1">One</a></div></div>'
    )
    lines = facts(page)
    assert [line for line in lines if " _:" in line] == ["_:1 <s:author> _:2", "_:1 <s:hasPart> _:3"]
    assert lines == facts(page)


def test_a_card_whose_organisation_is_its_name_is_an_organisation() -> None:
    assert "_:1 a <s:Organization>" in facts('<p class="h-card"><a class="p-name p-org u-url" href="/">Acme</a></p>')
    assert "_:1 a <s:Person>" in facts('<p class="h-card"><a class="p-name u-url" href="/">Ann</a></p>')


def test_markup_is_html_with_absolute_urls() -> None:
    page = '<div class="h-entry"><a class="u-url" href="/1">x</a><div class="e-content">a <a href="b">b</a></div></div>'
    html = '"a <a href=\\"https://blog.example/posts/b\\">b</a>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML>'
    assert f"_:1 <s:text> {html}" in facts(page)


def test_an_alternative_text_is_a_property_of_the_image() -> None:
    lines = facts('<a class="h-card" href="/ann"><img src="a.jpg" alt="Ann"></a>')
    assert "_:1 <s:image> <https://blog.example/posts/a.jpg>" in lines
    assert '<https://blog.example/posts/a.jpg> <mf:alt> "Ann"' in lines


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        ("2012-06-30", '"2012-06-30"^^<xsd:date>'),
        ("2012-06-30 19:00-0800", '"2012-06-30T19:00:00-08:00"^^<xsd:dateTime>'),
        ("2012-06-30T19:00:01.5Z", '"2012-06-30T19:00:01.5Z"^^<xsd:dateTime>'),
        ("2012-06-30t19:00+01", '"2012-06-30T19:00:00+01:00"^^<xsd:dateTime>'),
        ("2012-06", '"2012-06"^^<xsd:gYearMonth>'),
        ("P2Y11M", '"P2Y11M"^^<xsd:duration>'),
        ("2012-06-30 25:00", '"2012-06-30 25:00"'),
        ("2013-034", '"2013-034"'),
        ("soon", '"soon"'),
    ],
)
def test_dates_and_times_have_a_datatype_if_xml_schema_has_one(written: str, stated: str) -> None:
    assert time_literal(written).replace(f"<{XSD}", "<xsd:") == stated


def test_relations_are_read_only_on_pages_with_a_microformat() -> None:
    link = '<a rel="me nofollow" href="https://me.example/">me</a>'
    assert facts(link) == []
    lines = facts(f'{link}<a class="h-card" href="/">Ann</a>')
    assert lines[-1] == "<https://blog.example/posts/1> <xfn:me> <https://me.example/>"


@pytest.mark.parametrize(
    "markup", ['<div class="h-list">words</div>', '<div class="hentry">words</div>', '<div class="h-full">x</div>']
)
def test_class_names_for_styling_state_nothing(markup: str) -> None:
    assert facts(f'{markup}<a class="url" href="/">x</a>') == []


def test_every_fact_has_its_element() -> None:
    found = found_in('<div class="h-card"><a class="u-url" href="/">x</a><b class="p-name">Ann</b></div>')
    assert [place.tag for place in found.places] == ["div", "div", "a", "b"]


def test_elements_of_a_page_without_microformats_are_not_read() -> None:
    body = b'<p>words</p><a class="button" href="/">x</a>'
    survey = scan_html(parse_html(body).tree).survey()._replace(every=lambda: pytest.fail("every element was read"))
    assert read_microformats(Source(survey, ADDRESS, ADDRESS, Labels(1), body)).triples == []


def test_an_old_card_without_links_is_found() -> None:
    assert '_:1 <s:name> "Ann"' in facts('<p class="vcard"><b class="fn">Ann</b></p>')


def test_notices_report_old_names_and_skipped_items() -> None:
    page = '<p class="vcard"><b class="fn">Ann</b></p><p class="h-list">x</p>'
    assert [notice.kind for notice in found_in(page, collects_notices=True).notices] == [
        "microformat-without-properties",
        "microformat-of-old",
    ]
    assert found_in(page).notices == []


def test_facts_end_at_the_limit() -> None:
    body = b'<a class="h-card" href="/">x</a>' * 20
    survey = scan_html(parse_html(body).tree).survey()
    found = read_microformats(Source(survey, ADDRESS, ADDRESS, Labels(1), body, at_most=10))
    assert (len(found.triples), len(found.places), found.flags) == (10, 10, ["too-many-facts"])


def test_the_documented_names_are_those_in_use() -> None:
    documented = DOCS.read_text().partition("## Microformats as facts")[2].partition("\n## ")[0]
    for name, schema in {**vocabulary.CLASSES, **vocabulary.PROPERTIES}.items():
        assert f"`{name}` {schema}" in documented, name
