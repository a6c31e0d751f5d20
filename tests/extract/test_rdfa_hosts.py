"""RDFa rules that depend on the host language (XHTML, SVG, other XML); @role; notices; the processor graph."""

import pytest
from tests.extract.pages import ADDRESS

from gossamer.extract.page import extract
from gossamer.extract.rdfa.prefixes import NOT_WELL_FORMED, base_of, host_of
from gossamer.extract.source import MOST_NOTICES, Extraction, HostLanguage
from gossamer.extract.terms import LONGEST_LITERAL, Labels
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import doctype_of, parse_xml
from gossamer.reader.extraction import notices_as_facts
from gossamer.values.url import url_of

XHTML = 'xmlns="http://www.w3.org/1999/xhtml"'
SVG = 'xmlns="http://www.w3.org/2000/svg"'
V = 'vocab="http://schema.org/"'
XHV = "http://www.w3.org/1999/xhtml/vocab#"
OLD = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.1//EN" "x">'
RDFA = "http://www.w3.org/ns/rdfa#"


def host(page: str, media_type: str) -> HostLanguage:
    survey = parse_xml(page.encode())
    assert survey is not None
    return host_of(media_type, survey, doctype_of(page.encode()))


def read(page: str, media_type: str = "text/html", roles: bool = False, notes: bool = False) -> Extraction:
    body, address = page.encode(), url_of(ADDRESS)
    assert address is not None
    survey = parse_xml(body) if media_type != "text/html" else scan_html(parse_html(body).tree).survey()
    assert survey is not None
    language = host_of(media_type, survey, doctype_of(body))
    base = base_of(survey, language, address)
    return extract(
        survey, base, 1, body, address, host=language, syntaxes=("rdfa",), reads_roles=roles, collects_notices=notes
    )


def lines(page: str, media_type: str = "text/html", roles: bool = False) -> list[str]:
    found = [" ".join(triple) for triple in read(page, media_type, roles).triples if RDFA not in triple.predicate]
    return [
        line.replace("_:c0000000000000001n", "_:").replace("<http://schema.org/", "<s:").replace(ADDRESS, "")
        for line in found
    ]


XML, XHTML_TYPE, SVG_TYPE = "application/xml", "application/xhtml+xml", "image/svg+xml"


@pytest.mark.parametrize(
    ("page", "media_type", "expected"),
    [
        (f"<html {XHTML}/>", "text/html", HostLanguage.HTML),
        (f"<html {XHTML}/>", XHTML_TYPE, HostLanguage.XHTML5),
        (f"<!DOCTYPE html><html {XHTML}/>", XHTML_TYPE, HostLanguage.XHTML5),
        (f"{OLD}<html {XHTML}/>", XHTML_TYPE, HostLanguage.XHTML1),
        (f'<html {XHTML} version="XHTML+RDFa 1.0"/>', XHTML_TYPE, HostLanguage.XHTML1),
        (f"<html {XHTML}/>", XML, HostLanguage.XHTML5),
        ('<h:html xmlns:h="http://www.w3.org/1999/xhtml"/>', "text/xml", HostLanguage.XHTML5),
        (f"<svg {SVG}/>", XML, HostLanguage.SVG),
        ("<svg/>", SVG_TYPE, HostLanguage.SVG),
        ("<svg/>", XML, HostLanguage.XML),
        ("<html/>", XML, HostLanguage.XML),
        ("<feed xmlns='http://www.w3.org/2005/Atom'/>", "application/atom+xml", HostLanguage.XML),
    ],
)
def test_the_host_language_is_decided_by_media_type_root_and_document_type(
    page: str, media_type: str, expected: HostLanguage
) -> None:
    assert host(page, media_type) is expected


def test_a_base_element_applies_in_html_and_xhtml_only() -> None:
    page = '<base href="http://b.example/x#y"/><p {V} property="url" resource="z"/>'.replace("{V}", V)
    assert lines(page) == ["<http://b.example/x> <s:url> <http://b.example/z>"]
    inside = f"<html {XHTML}><head>{page}</head></html>"
    assert lines(inside, XHTML_TYPE) == ["<http://b.example/x> <s:url> <http://b.example/z>"]
    assert lines(f"<a>{page}</a>", XML) == ["<> <s:url> <https://shop.example/teapots/z>"]


def test_xml_base_applies_to_an_element_and_its_content_in_xml_and_svg() -> None:
    page = (
        f'<a {V} xml:base="http://b.example/x/#f"><b property="p" resource="y"/>'
        '<c xml:base="../z/"><b property="p" resource="y"/></c><b property="p" resource="w"/></a>'
    )
    found = [
        "<http://b.example/x/> <s:p> <http://b.example/x/y>",
        "<http://b.example/x/> <s:p> <http://b.example/z/y>",
        "<http://b.example/x/> <s:p> <http://b.example/x/w>",
    ]
    assert lines(page, XML) == found
    assert lines(page.replace("<a ", "<svg ").replace("</a>", "</svg>"), SVG_TYPE) == found


def test_xml_base_is_ignored_in_html_and_everywhere_if_it_is_not_a_web_url() -> None:
    page = f'<p xml:base="http://b.example/" {V} property="p" resource="y"/>'
    assert lines(page) == ["<> <s:p> <https://shop.example/teapots/y>"]
    assert lines(f"<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == [
        "<> <s:p> <https://shop.example/teapots/y>"
    ]
    assert lines(page.replace("http://b.example/", "urn:b"), XML) == ["<> <s:p> <https://shop.example/teapots/y>"]


def test_the_applicable_language_attribute_depends_on_the_host_language() -> None:
    page = f'<p {V} property="p" lang="de" xml:lang="fr">x</p>'
    assert lines(page) == ['<> <s:p> "x"@de']
    assert lines(f"<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == ['<> <s:p> "x"@fr']
    assert lines(page, XML) == ['<> <s:p> "x"@fr']
    assert lines(page.replace(' xml:lang="fr"', ""), XML) == ['<> <s:p> "x"']
    nested = f'<a {V} xml:lang="fr"><b xml:lang="" property="p">x</b></a>'
    assert lines(nested, XML) == ['<> <s:p> "x"']


def test_dates_and_times_are_typed_in_html5_only() -> None:
    page = f'<time {V} property="p" datetime="2026-11-15">then</time>'
    typed = '<> <s:p> "2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>'
    assert lines(f"<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == [typed]
    assert lines(f"{OLD}<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == ['<> <s:p> "then"']
    assert lines(page, XML) == ['<> <s:p> "then"']


def test_relations_of_the_xhtml_vocabulary_are_terms_in_xhtml1_only() -> None:
    page = '<a rel="next" href="/n">n</a>'
    old = lines(f"{OLD}<html {XHTML}><body>{page}</body></html>", XHTML_TYPE)
    assert old == [f"<> <{XHV}next> <https://shop.example/n>"]
    assert lines(f"<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == []
    assert lines(page) == []


def test_plain_relations_next_to_a_property_apply_outside_html5() -> None:
    page = f'<a {V} rel="next" property="url" href="/n">n</a>'
    assert lines(f"<html {XHTML}><body>{page}</body></html>", XHTML_TYPE) == ["<> <s:url> <https://shop.example/n>"]
    assert lines(page, XML) == ["<> <s:next> <https://shop.example/n>", '<> <s:url> "n"']


def test_head_and_body_are_ordinary_elements_in_xml() -> None:
    page = f'<a {V} about="#a"><body typeof="T"><b property="p">x</b></body></a>'
    assert lines(page, XML)[1:] == ['_:1 <s:p> "x"']


def test_attribute_names_are_case_sensitive_in_xml() -> None:
    assert lines(f'<a {V}><b Property="p">x</b></a>', XML) == []


def test_namespaces_are_prefixes_and_elements_with_one_are_ordinary() -> None:
    page = '<e:a xmlns:e="http://e.example/"><e:b property="e:p">x</e:b></e:a>'
    assert lines(page, XML) == ['<> <http://e.example/p> "x"']


def test_markup_in_an_xml_literal_declares_the_namespaces_in_scope() -> None:
    page = (
        f'<html {XHTML} prefix="z: u:z"><body xmlns:m="u:m" {V}><p property="p" datatype="rdf:XMLLiteral">'
        '1 &lt; 2 <m:i m:a="&quot;" b="2"><c/></m:i></p></body></html>'
    )
    around = f'{XHTML} xmlns:m="u:m" xmlns:z="u:z"'
    written = f'1 &lt; 2 <m:i m:a="&quot;" b="2" {around}><c/></m:i>'.replace('"', '\\"')
    assert [line.partition("> ")[2] for line in lines(page, XHTML_TYPE)] == [
        f'<s:p> "{written}"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>'
    ]


def test_F_G3_a_markup_literal_stops_growing_when_it_is_too_long() -> None:
    many = "".join(f' xmlns:n{number}="http://n.example/{number}"' for number in range(200))
    page = f'<p {V}{many} property="p" datatype="rdf:XMLLiteral">{"<b></b>" * 20_000}</p>'
    found = read(page)
    assert len(page) < LONGEST_LITERAL and "literal-too-long" in found.flags


def test_roles_are_read_only_on_request() -> None:
    page = '<p id="a" role="main">x</p>'
    assert lines(page) == []
    assert lines(page, roles=True) == [f"<#a> <{XHV}role> <{XHV}main>"]


def test_roles_name_terms_curies_and_iris_and_belong_to_the_element() -> None:
    page = (
        f'<p prefix="e: http://e.example/" {V}><b role="note e:x http://o.example/y ?!"></b></p><i id="i" role="e:z"/>'
    )
    assert lines(page, roles=True) == [
        f"_:1 <{XHV}role> <{XHV}note>",
        f"_:1 <{XHV}role> <http://e.example/x>",
        f"_:1 <{XHV}role> <http://o.example/y>",
        f"<#i> <{XHV}role> <e:z>",
    ]


def test_roles_in_xml_use_its_base() -> None:
    page = '<a xml:base="http://b.example/"><b id="i" role="main"/></a>'
    assert lines(page, XML, roles=True) == [f"<http://b.example/#i> <{XHV}role> <{XHV}main>"]


def test_roles_are_among_the_facts_of_a_page() -> None:
    found = read("<p role='a'></p>" * 50_010, roles=True)
    assert len(found.triples) == 50_000 and "too-many-facts" in found.flags


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ('<p property="nothing">x</p>', "unresolved-term"),
        ('<p typeof="Nothing">x</p>', "unresolved-term"),
        ('<p property="nope:x">x</p>', "unresolved-curie"),
        ('<p property="dc:title" resource="[nope:x]">x</p>', "unresolved-curie"),
        ('<p prefix="dc: http://dc.example/" property="dc:x">x</p>', "prefix-redefinition"),
        ('<p prefix="$x http://x.example/" property="dc:x">x</p>', "malformed-prefix"),
        ('<p prefix="_: http://x.example/" property="dc:x">x</p>', "malformed-prefix"),
        ('<p lang="not a tag" property="dc:x">x</p>', "unknown-language"),
    ],
)
def test_authoring_errors_give_notices_with_their_place(page: str, kind: str) -> None:
    notices = read(page, notes=True).notices
    assert [(notice.level, notice.kind) for notice in notices] == [("warning", kind)]
    assert notices[0].element is not None and notices[0].element.tag == "p"


def test_correct_markup_gives_no_notice() -> None:
    page = (
        f'<div {V} prefix="e: http://e.example/" typeof="A e:B http://x.example/C">'
        '<a property="url mailto:x" href="/">x</a><b about="_:a" property="name" resource="[_:b]">x</b>'
        '<link rel="stylesheet nofollow"><i about="[]" property="x"/></div>'
    )
    assert read(page, notes=True).notices == ()


def test_notices_are_collected_only_on_request_and_change_no_fact() -> None:
    inner = '<b property="p" resource="_:y">x</b>'
    page = f'<div {V} about="[_:x]" property="nope:p" prefix="dc: http://dc.example/">{inner}</div>'
    assert read(page).notices == ()
    assert read(page).triples == read(page, notes=True).triples


def test_notices_are_bounded() -> None:
    assert len(read('<p property="a b c">x</p>' * 1000, notes=True).notices) == MOST_NOTICES


def test_the_processor_graph_types_describes_and_places_each_notice() -> None:
    notices = (NOT_WELL_FORMED, *read('<p property="nothing">x</p>', notes=True).notices)
    found = [" ".join(triple) for triple in notices_as_facts(notices, ADDRESS, Labels(1))]
    rdf_type, node = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "_:c0000000000000001n"
    assert [line for line in found if "description" not in line] == [
        f"{node}1 {rdf_type} <{RDFA}Error>",
        f"{node}1 {rdf_type} <{RDFA}DocumentError>",
        f"{node}1 <{RDFA}context> <{ADDRESS}>",
        f"{node}2 {rdf_type} <{RDFA}Warning>",
        f"{node}2 {rdf_type} <{RDFA}UnresolvedTerm>",
        f"{node}2 <{RDFA}context> <{ADDRESS}>",
    ]
    assert len(found) == 8
