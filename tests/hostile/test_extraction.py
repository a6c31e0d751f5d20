"""Pages made to break extractors, and real pages that broke others: nothing is raised, the result is valid, and the
work is bounded.

A page must be read within 5 s (FAULTS, I4). That is not measured here, since machines differ: the time limit below only
ends endless work, and the bounds are visible in what is found and flagged.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from fuzz.sound import ADDRESS, check_page, check_reader, read, survey_of
from fuzz.targets import page_of
from tests.hostile.masses import HOLDS, MASSES, many

from gossamer.extract.source import SYNTAXES
from gossamer.parse.charset import as_utf8, charset_of
from gossamer.reader.extraction import extract
from gossamer.values.page import MOST_TRIPLES

SHARED = Path(__file__).parents[3] / "shared"
REAL = Path(os.environ.get("GOSSAMER_CORPUS", SHARED / "corpus")) / "structured-pages"
TREES = Path(os.environ.get("GOSSAMER_CONFORMANCE", SHARED / "conformance")) / "html" / "tree-construction"
FOUND = Path(__file__).parent / "found"
"""Inputs of the fuzzer that once broke something, by target."""
XHTML = "application/xhtml+xml"

pytestmark = pytest.mark.timeout(600)


@pytest.mark.skipif(not REAL.is_dir(), reason="the captured pages are not here; set GOSSAMER_CORPUS")
@pytest.mark.parametrize("file", sorted(REAL.glob("*.html")), ids=lambda file: file.stem)
def test_real_pages_that_broke_others_are_read(file: Path) -> None:
    body = as_utf8(file.read_bytes(), charset_of(None, file.read_bytes()).encoding)
    check_page(body)
    for name in SYNTAXES:
        check_reader(name, body)
    assert extract(body, ADDRESS, XHTML).flags is not None


def inputs_of(file: Path) -> Iterator[str]:
    """The pages of a tree-construction file: the text between `#data` and `#errors`."""
    text = file.read_bytes().decode("utf-8", "surrogateescape")
    for found in re.finditer(r"^#data\n(.*?)\n?#errors", text, re.MULTILINE | re.DOTALL):
        yield found[1]


STATING = (
    ' property="schema:name" typeof="schema:Thing" rel="schema:a" itemprop="name" itemscope itemtype="http://t.example/T"'
    ' class="h-card p-name" name="DC.title" content="words"'
)


@pytest.mark.skipif(not TREES.is_dir(), reason="the tree-construction pages are not here; set GOSSAMER_CONFORMANCE")
@pytest.mark.parametrize("file", sorted(TREES.glob("*.dat")), ids=lambda file: file.stem)
def test_facts_on_every_element_of_odd_trees_are_valid(file: Path) -> None:
    pages = list(inputs_of(file))
    assert pages
    for page in pages:
        stating = re.sub(r"<([a-zA-Z][a-zA-Z0-9]*)", rf"<\1{STATING}", page)
        for body in (page.encode("utf-8", "surrogateescape"), stating.encode("utf-8", "surrogateescape")):
            check_page(body)
        extract(stating.encode("utf-8", "replace"), ADDRESS, XHTML)


@pytest.mark.parametrize("file", sorted(FOUND.glob("*/*")), ids=str)
def test_inputs_that_the_fuzzer_found_stay_fixed(file: Path) -> None:
    data = file.read_bytes()
    if file.parent.name == "page":
        check_page(data)
    else:
        check_reader(file.parent.name, page_of(file.parent.name, data))


@pytest.mark.parametrize(("name", "mass"), [(name, mass) for name in SYNTAXES for mass in MASSES[name]])
def test_F_G3_pages_with_very_many_of_one_construct_stay_within_bounds(name: str, mass: str) -> None:
    if f"{name} {mass}" in HOLDS:
        pytest.skip(HOLDS[f"{name} {mass}"])
    body = MASSES[name][mass]()
    survey = survey_of(body)
    found = read(name, body, survey, collects_notices=False)
    assert len(found.triples) == len(found.places) <= 2 * MOST_TRIPLES + 1
    assert sum(map(len, map("".join, found.triples[:MOST_TRIPLES]))) < 1 << 28
    noted = read(name, body, survey, collects_notices=True)
    assert noted.triples == found.triples


INVALID_IRIS = ("http://e/>", "http://e/\n<x>", "http://e/ a", "javascript:alert(1)", "http://e/" + "x" * 100_000)


@pytest.mark.parametrize("iri", INVALID_IRIS, ids=["angle", "newline", "space", "script", "long"])
def test_F_G4_invalid_iris_are_repaired_or_dropped_in_every_syntax(iri: str) -> None:
    quoted = iri.replace("<", "&lt;")
    body = f"""<div about="{quoted}" property="schema:a" content=x vocab="{quoted}" typeof="{quoted}"></div>
    <div itemscope itemid="{quoted}" itemtype="{quoted}"><a itemprop="{quoted} b" href="{quoted}">c</a></div>
    <div class=h-card><a class=u-url href="{quoted}">d</a></div><link rel="DC.relation" href="{quoted}">
    <link rel="schema.DC" href="{quoted}"><meta name=DC.x content="{quoted}"><meta property=og:url content="{quoted}">
    <meta name=twitter:image content="{quoted}">""".encode()
    for name in SYNTAXES:
        check_reader(name, body)
    assert check_page(body).triples


def test_F_G1_a_vocabulary_or_profile_is_a_name_and_never_fetched() -> None:
    body = b"""<html profile="file:///etc/passwd" vocab="http://127.0.0.1:9/v#"><body property=name>x
    <p itemscope itemtype="http://127.0.0.1:9/T">
    <link rel="schema.DC" href="file:///etc/passwd"><meta name=DC.x content=y>"""
    found = check_page(body)
    assert any("http://127.0.0.1:9/v#name" in fact.predicate for fact in found.triples)
    assert "root:" not in "".join(map("".join, found.triples))


def test_F_G6_the_same_label_in_two_captures_is_never_the_same_node_in_any_syntax() -> None:
    body = b"""<p about="_:a" property="schema:x">y</p><script type=application/ld+json>{"@id":"_:a","http://p/":"q"}</script>
    <p itemscope itemid="_:a"><i itemprop=z>w</i></p>"""
    first, second = extract(body, "http://one.example/"), extract(body, "http://two.example/")
    labels = [{term for fact in one.facts for term in fact if term[0] == "_"} for one in (first, second)]
    assert labels[0] and labels[0].isdisjoint(labels[1])


def test_F_G8_a_graph_that_is_hard_to_canonicalise_is_stored_like_any_other() -> None:
    """Labels come from document order, so no code looks for a canonical form of a page's blank nodes: a page on which
    that would take forever (all nodes look alike) takes the time that its facts take."""
    nodes = 60
    body = "".join(
        f'<a about="_:n{one}" rel="schema:knows" href="#" resource="_:n{other}"></a>'
        for one in range(nodes)
        for other in range(nodes)
        if one != other
    ).encode()
    assert len(check_page(body).triples) == nodes * (nodes - 1)
    source = Path(__file__).parents[2] / "src"
    canonical = re.compile(r"canonicali[sz]e\(|CanonicalizationAlg")
    found = [file.name for file in source.rglob("*.py") if canonical.search(file.read_text())]
    assert found == ["fitness.py"], "which compares its own scratch page with what a SPARQL server returns of it"


ENTITIES = {
    "file": b'<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "parameter": b'<!DOCTYPE html [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p; <!ENTITY x "y">]>',
    "dtd": b'<!DOCTYPE html SYSTEM "file:///etc/passwd">',
    "dial": b'<!DOCTYPE html PUBLIC "x" "http://127.0.0.1:9/x.dtd" [<!ENTITY x SYSTEM "http://127.0.0.1:9/">]>',
    "laughs": b"<!DOCTYPE html [<!ENTITY a0 'ha'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12))
    + b"<!ENTITY x '&a11;'>]>",
    "growth": b"<!DOCTYPE html [<!ENTITY x '" + b"y" * 1_000 + b"'>]>",
    "stylesheet": b'<?xml-stylesheet type="text/xsl" href="file:///etc/passwd"?>',
}


@pytest.mark.parametrize("kind", ENTITIES)
@pytest.mark.parametrize("media_type", [XHTML, "image/svg+xml", "application/xml", "text/html"])
def test_F_M5_no_document_type_reads_a_file_or_grows_without_limit(kind: str, media_type: str) -> None:
    many_times = b"&x;" * 5_000 if kind == "growth" else b"&x;"
    body = (
        b'<?xml version="1.0"?>'
        + ENTITIES[kind]
        + b'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:i="http://www.w3.org/2001/XInclude"><body>'
        b'<p property="schema:name">' + many_times + b'</p><p property="schema:a" content="b"/>'
        b'<p property="schema:c"><i:include href="file:///etc/passwd" parse="text"/></p></body></html>'
    )
    found = extract(body, ADDRESS, media_type)
    written = found.ntriples()
    assert "root:" not in written and len(written) < 8 << 20


ENDLESS: dict[str, Callable[[], bytes]] = {
    "open": lambda: b"<html>" + b'<p property="schema:a">' * 100_000,
    "closed": lambda: b"<html>" + b"<p>" * 100_000 + b"</p>" * 100_000 + b"</html>",
    "attributes": lambda: b"<p " + many(100_000, lambda n: f'a{n}="1" ') + b'property="schema:a">x</p>',
    "namespaces": lambda: b"<p " + many(50_000, lambda n: f'xmlns:a{n}="http://a/" ') + b'property="schema:a">x</p>',
    "characters": lambda: b'<p property="schema:a">&#0;&#x110000;&nosuch;]]></p>',
    "flat": lambda: b"<html>" + b'<p property="schema:a"/>' * 60_000 + b"</html>",
}


@pytest.mark.parametrize("endless", ENDLESS)
@pytest.mark.parametrize("media_type", [XHTML, "text/html"])
def test_F_M1_endless_depth_and_attributes_are_bounded_in_xml_too(media_type: str, endless: str) -> None:
    if f"{media_type} {endless}" in HOLDS:
        pytest.skip(HOLDS[f"{media_type} {endless}"])
    found = extract(ENDLESS[endless](), ADDRESS, media_type)
    assert len(found.facts) <= MOST_TRIPLES


@pytest.mark.parametrize("name", SYNTAXES)
def test_F_M2_a_page_without_the_syntax_has_no_facts_in_it(name: str) -> None:
    body = b"<title>x</title>" + b"<p id=a class=b><a href=/c>words</a></p>" * 20_000
    found = check_reader(name, body)
    assert (found.triples, found.flags) == ([], [])


def test_F_M4_a_base_that_is_not_an_http_url_is_ignored() -> None:
    for base in ("javascript:alert(1)", "file:///etc/", "data:text/html,x", "//[", ""):
        body = f'<base href="{base}"><base href="http://second.example/"><p about="x" property="schema:a">b</p>'
        found = extract(body.encode(), ADDRESS).facts
        assert found and not any("etc" in fact.subject or "alert" in fact.subject for fact in found)


def test_F_M6_bidi_overrides_and_invisible_letters_are_kept_as_on_the_page() -> None:
    """A fact keeps the page's text; the web pages isolate it when they show it (tests/web)."""
    value = "a\u202eb\u200b\u2066c"
    (fact,) = check_page(f"<p property='schema:a'>{value}</p>".encode()).triples
    (again,) = ox.parse(" ".join([*fact, "."]).encode(), format=ox.RdfFormat.N_TRIPLES)
    assert again.object == ox.Literal(value)
