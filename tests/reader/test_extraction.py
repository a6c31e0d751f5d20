"""`gossamer.extract`: one page in, its facts out."""

import subprocess
import sys
from collections.abc import Sequence

import pyoxigraph as ox
import pytest

import gossamer
from gossamer.base.errors import ConfigError
from gossamer.extract.source import SYNTAXES, Notice
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.reader.extraction import NOT_MARKUP, remarks_of

ADDRESS = "https://shop.example/teapots/blue.html"
PERSON = b'<body vocab="http://schema.org/"><p typeof="Person" resource="#ada"><b property="name">Ada</b>'
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SCHEMA = "http://schema.org/"
SUB_CLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"


def facts_of(found: gossamer.Extracted) -> list[str]:
    return [" ".join(quad[:3]) for quad in found if "usesVocabulary" not in quad.predicate]


def run(*words: str) -> str:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout


def test_facts_are_quads_in_the_graph_of_the_page() -> None:
    found = gossamer.extract(PERSON, ADDRESS)
    assert [quad.graph for quad in found] == [f"<{ADDRESS}>"] * 3 and len(found) == 3
    assert found.syntaxes == ("rdfa",) and found.facts_by_syntax == {"rdfa": 3} and found.flags == ()
    assert list(found)[2] == (f"<{ADDRESS}#ada>", f"<{SCHEMA}name>", '"Ada"', f"<{ADDRESS}>")


def test_triples_and_quads_are_valid_for_a_strict_parser() -> None:
    found = gossamer.extract(PERSON + '<i property="x">tab\t"é\x7f</i>'.encode(), ADDRESS)
    quads = list(ox.parse(found.nquads().encode(), format=ox.RdfFormat.N_QUADS))
    triples = list(ox.parse(found.ntriples().encode(), format=ox.RdfFormat.N_TRIPLES))
    assert len(quads) == len(triples) == len(found) == 4
    assert {quad.graph_name.value for quad in quads} == {ADDRESS}


def test_blank_nodes_have_the_same_labels_for_the_same_page_and_others_for_another() -> None:
    page = b'<p vocab="http://schema.org/" typeof="Person"><b property="name">Ada</b>'
    first, again, other = (gossamer.extract(page, url) for url in (ADDRESS, ADDRESS, f"{ADDRESS}?2"))
    assert list(first) == list(again)
    blank = [{quad.subject for quad in found if quad.subject.startswith("_:")} for found in (first, other)]
    assert all(blank) and blank[0].isdisjoint(blank[1])


def test_the_base_element_is_obeyed() -> None:
    page = b'<base href="/else/"><a property="og:url" href="x">'
    assert facts_of(gossamer.extract(page, ADDRESS)) == [
        "<https://shop.example/else/> <http://ogp.me/ns#url> <https://shop.example/else/x>"
    ]


def test_the_charset_of_the_media_type_is_used() -> None:
    page = '<p property="og:title">Käse</p>'.encode("iso-8859-15")
    found = gossamer.extract(page, ADDRESS, "text/html; charset=iso-8859-15")
    assert found.facts[0].object == '"Käse"'


def test_contradictory_charsets_are_flagged() -> None:
    page = b'<meta charset="utf-8"><p property="og:title">a</p>'
    assert gossamer.extract(page, ADDRESS, "text/html; charset=iso-8859-15").flags == ("charset-conflict",)


def test_xml_is_read_as_xml_and_as_html_if_not_well_formed() -> None:
    page = b'<html xmlns="http://www.w3.org/1999/xhtml"><head><script/></head><body><p property="og:title">a</p></body>'
    whole, truncated = page + b"</html>", page
    read = gossamer.extract(whole, ADDRESS, "application/xhtml+xml")
    assert len(read) == 1 and read.flags == ()
    broken = gossamer.extract(truncated, ADDRESS, "application/xhtml+xml")
    assert broken.flags == ("not-well-formed",)
    assert [notice.kind for notice in broken.notices][:1] == ["document-error"]
    assert len(gossamer.extract(whole, ADDRESS, "text/html")) == 0  # the script swallows the rest


def test_a_document_that_is_not_markup_has_no_facts_and_a_flag() -> None:
    found = gossamer.extract(b"%PDF-1.7", ADDRESS, "application/pdf")
    assert list(found) == [] and found.flags == (NOT_MARKUP,) and found.notices == () and found.items() == []


def test_only_the_given_syntaxes_are_read() -> None:
    script = b'<script type="application/ld+json">{"@context":"https://schema.org","@type":"Person"}</script>'
    assert gossamer.extract(PERSON + script, ADDRESS).syntaxes == ("rdfa", "json-ld")
    assert gossamer.extract(PERSON + script, ADDRESS, syntaxes=["json-ld"]).syntaxes == ("json-ld",)
    assert gossamer.extract(PERSON + script, ADDRESS, syntaxes="rdfa").syntaxes == ("rdfa",)
    assert gossamer.extract(PERSON + script, ADDRESS, syntaxes=[]).syntaxes == ()


def test_an_unknown_syntax_is_refused_with_a_list_of_known_ones() -> None:
    with pytest.raises(ConfigError, match=f"there is no syntax 'rdf'; there are {', '.join(SYNTAXES)}"):
        gossamer.extract(PERSON, ADDRESS, syntaxes=["rdf"])


@pytest.mark.parametrize("url", ["", "page.html", "file:///page.html", "http://"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is not an http or https URL"):
        gossamer.extract(PERSON, url)


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe", b"<" * 1000, b"<p property=" + b"x" * 100_000])
@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "", "x"])
def test_no_page_makes_it_raise(body: bytes, kind: str) -> None:
    found = gossamer.extract(body, ADDRESS, kind, processor_graph=True)
    assert found.items() is not None and found.notices is not None and found.nquads() is not None


def test_roles_are_read() -> None:
    page = b'<p id="x" role="note">a</p><p property="og:title">b</p>'
    assert any("#role>" in line for line in facts_of(gossamer.extract(page, ADDRESS)))


def test_an_undeclared_term_is_reported_with_line_and_column() -> None:
    page = b'<html>\n<body>\n <p property="nowhere">x</p>'
    found = gossamer.extract(page, ADDRESS)
    assert [(notice.kind, notice.line, notice.column, notice.path) for notice in found.notices] == [
        ("unresolved-term", 3, 2, "/html/body/p")
    ]


def test_notices_are_facts_of_a_separate_graph_on_request() -> None:
    page = PERSON + b'<i property="og:title">x</i><p vocab="" property="nowhere">y</p>'
    plain, noted = gossamer.extract(page, ADDRESS), gossamer.extract(page, ADDRESS, processor_graph=True)
    assert plain.processor_graph == () and noted.facts == plain.facts
    added = [quad for quad in noted if quad.graph == gossamer.PROCESSOR_GRAPH]
    assert added and len(noted) == len(plain) + len(added)
    assert any(quad.object == "<http://www.w3.org/ns/rdfa#UnresolvedTerm>" for quad in added)
    assert {quad.subject for quad in added}.isdisjoint({quad.subject for quad in plain})
    assert noted.nquads().count("<urn:gossamer:processor-graph>") == len(added)


def test_a_notice_about_an_element_without_a_known_place_has_only_its_path() -> None:
    body = b"<table><tr><td>x</td></tr></table><p>"
    survey = scan_html(parse_html(body).tree).survey()
    places = [element for element, tag, _ in survey.every() if tag in ("tbody", "p")]
    remarks = remarks_of(
        [Notice("info", "k", "s", place) for place in places] + [Notice("info", "k", "s")], survey, body
    )
    assert [remark[3:] for remark in remarks] == [
        ("/html/body/table/tbody", None, None),
        ("/html/body/p", 1, 35),
        ("", None, None),
    ]


VOCABULARY = f"<{SCHEMA}Person> <{SUB_CLASS}> <{SCHEMA}Thing> ."
DOCUMENTS = {
    "turtle": f"@prefix s: <{SCHEMA}> .\ns:Person <{SUB_CLASS}> s:Thing .",
    "turtle that begins with an IRI": VOCABULARY,
    "n-triples": f"# comment\n{VOCABULARY}\n",
    "rdf/xml": f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:r="http://www.w3.org/2000/01/rdf-schema#">
<rdf:Description rdf:about="{SCHEMA}Person"><r:subClassOf rdf:resource="{SCHEMA}Thing"/></rdf:Description></rdf:RDF>""",
    "json-ld": f'{{"@id": "{SCHEMA}Person", "{SUB_CLASS}": {{"@id": "{SCHEMA}Thing"}}}}',
    "html": f'<!DOCTYPE html><a about="{SCHEMA}Person" rel="rdfs:subClassOf" href="{SCHEMA}Thing">x</a>',
    "xhtml": f"""<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>
<a about="{SCHEMA}Person" rel="rdfs:subClassOf" href="{SCHEMA}Thing">x</a></body></html>""",
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=list(DOCUMENTS))
def test_a_vocabulary_is_used_in_every_common_format(document: str) -> None:
    found = gossamer.extract(PERSON, ADDRESS, vocabularies={SCHEMA: document.encode()}, expand_vocabularies=True)
    assert f"<{ADDRESS}#ada> {TYPE} <{SCHEMA}Thing>" in facts_of(found)
    assert found.facts[:3] == gossamer.extract(PERSON, ADDRESS).facts[:3]


def test_vocabularies_change_nothing_without_expansion() -> None:
    found = gossamer.extract(PERSON, ADDRESS, vocabularies={SCHEMA: VOCABULARY.encode()})
    assert found.facts == gossamer.extract(PERSON, ADDRESS).facts


def kinds(found: gossamer.Extracted) -> Sequence[str]:
    return [notice.kind for notice in found.notices]


def test_a_missing_vocabulary_is_reported_and_not_fetched() -> None:
    found = gossamer.extract(PERSON, ADDRESS, expand_vocabularies=True, processor_graph=True)
    assert "vocabulary-not-found" in kinds(found)
    assert any(quad.object == "<http://www.w3.org/ns/rdfa#VocabReferenceError>" for quad in found)
    assert "vocabulary-not-found" not in kinds(gossamer.extract(PERSON, ADDRESS))


def test_an_unreadable_vocabulary_is_reported_and_flagged() -> None:
    found = gossamer.extract(PERSON, ADDRESS, expand_vocabularies=True, vocabularies={SCHEMA: b"\xff<< nonsense"})
    assert "vocabulary-unreadable" in found.flags and "vocabulary-unreadable" in kinds(found)


def test_the_package_named_like_the_function_can_still_be_imported() -> None:
    script = (
        "import gossamer; from gossamer.extract.page import READERS; import gossamer.reader.reading; "
        "from gossamer.extract.jsonld import contexts; from gossamer import extract; "
        "assert extract is gossamer.extract and callable(extract) and READERS; "
        "print(len(gossamer.extract(b'<p property=og:title>a</p>', 'https://a.example/')))"
    )
    assert run("-c", script).strip() == "1"
    assert run("-c", f"import gossamer.extract.page; {script}").strip() == "1"


def test_a_process_that_extracts_nothing_does_not_load_the_parsers() -> None:
    script = "import sys, gossamer; print(sorted({'selectolax', 'pyoxigraph', 'lxml', 'msgspec'} & sys.modules.keys()))"
    assert run("-c", script).strip() == "[]"


def test_only_public_names_of_the_package_are_found() -> None:
    assert set(dir(gossamer)) == set(gossamer.__all__)
    assert all(getattr(gossamer, name) is not None for name in gossamer.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'extrakt'"):
        gossamer.extrakt  # type: ignore[attr-defined]  # noqa: B018
