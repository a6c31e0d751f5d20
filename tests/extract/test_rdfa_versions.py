"""RDFa 1.0: which pages are read by its rules, and how they differ from 1.1."""

import pytest
from tests.extract.pages import ADDRESS, lines, read

from gossamer import extract
from gossamer.extract.page import properties_and_entities

DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN" "http://www.w3.org/MarkUp/DTD/xhtml-rdfa-1.dtd">'
SPACES = 'xmlns:s="http://schema.org/" xmlns:foaf="http://xmlns.com/foaf/0.1/"'
TYPED = '<div rel="s:maker" typeof="s:Book" resource="#me"></div>'
"""1.0 types the subject, 1.1 the object."""
OLD = ["_:1 a <s:Book>", f"_:1 <s:maker> <{ADDRESS}#me>"]
NEW = [f"<{ADDRESS}#me> a <s:Book>", f"<{ADDRESS}> <s:maker> <{ADDRESS}#me>"]


def old(body: str) -> str:
    return f'{DOCTYPE}<html {SPACES} version="XHTML+RDFa 1.0"><body>{body}</body></html>'


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (f"{DOCTYPE}<html {SPACES}>", OLD),
        (f'<?xml version="1.0"?>\n<!-- made by hand -->\n{DOCTYPE}\n<html {SPACES}>', OLD),
        (f'<!DOCTYPE html><html {SPACES} version="HTML+RDFa 1.0">', OLD),
        (f'<html {SPACES} version="XHTML+RDFa 1.0">', OLD),
        (f'{DOCTYPE}<html {SPACES} version="HTML+RDFa 1.1">', NEW),
        (f"<!DOCTYPE html><html {SPACES}>", NEW),
        (f'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.1//EN" ""><html {SPACES}>', NEW),
        (f"<!DOCTYPE html><html {SPACES}><!-- not XHTML+RDFa 1.0 -->", NEW),
    ],
)
def test_the_declared_version_decides(start: str, expected: list[str]) -> None:
    assert lines(f"{start}<body>{TYPED}</body></html>") == expected


def test_a_page_with_vocab_is_read_as_1_1_whichever_version_it_declares() -> None:
    body = '<div vocab="http://schema.org/" typeof="Book"><b property="name">Emma</b></div>'
    assert lines(old(body)) == ["_:1 a <s:Book>", '_:1 <s:name> "Emma"']


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<p property="name">x</p>', []),
        ('<p property="og:title">x</p>', []),
        ('<p property="http://schema.org/name">x</p>', []),
        ('<p vocab="http://schema.org/" property="s:name">x</p>', [f'<{ADDRESS}> <s:name> "x"']),
        ('<p prefix="s: http://wrong.test/" property="s:name">x</p>', [f'<{ADDRESS}> <s:name> "x"']),
        ('<a property="s:name" href="/x">y</a>', ['<https://shop.example/x> <s:name> "y"']),
        ('<img src="/x" rel="s:next" href="/y">', ["<https://shop.example/x> <s:next> <https://shop.example/y>"]),
        ('<img rel="s:image" src="/x">', []),
        ('<p about="foaf:x" property="s:name">y</p>', ['<foaf:x> <s:name> "y"']),
        ('<p about="[foaf:x]" property="s:name">y</p>', ['<http://xmlns.com/foaf/0.1/x> <s:name> "y"']),
        ('<p typeof="s:Book" property="s:name">y</p>', ["_:1 a <s:Book>", '_:1 <s:name> "y"']),
        ('<p property="s:name" inlist="">y</p>', [f'<{ADDRESS}> <s:name> "y"']),
        ('<time property="s:at" datetime="2012-01-01">y</time>', [f'<{ADDRESS}> <s:at> "y"']),
        ('<p property="s:name" datatype="">two <b>words</b></p>', [f'<{ADDRESS}> <s:name> "two words"']),
        ('<p property="s:name" content="given">two <b>words</b></p>', [f'<{ADDRESS}> <s:name> "given"']),
    ],
)
def test_markup_is_read_by_the_rules_of_1_0(body: str, expected: list[str]) -> None:
    assert lines(old(body)) == expected


def test_text_with_elements_is_an_xml_literal_and_its_content_is_not_read() -> None:
    found = read(old('<div property="s:text">E = mc<sup property="s:power">2</sup></div>')).triples
    (fact,) = found
    assert fact.object.endswith("^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>")
    assert '<sup property=\\"s:power\\" xmlns=\\"http://www.w3.org/1999/xhtml\\"' in fact.object


def test_the_name_of_an_entity_is_given_without_its_markup() -> None:
    found = read(old('<div about="#a" property="s:name">E = mc<sup>2</sup> &amp; so on</div>')).triples
    assert [entity.name for entity in properties_and_entities(found)[1]] == ["E = mc2 & so on"]


def test_prefixes_in_xhtml_are_case_sensitive() -> None:
    body = f"""{DOCTYPE}<html xmlns="http://www.w3.org/1999/xhtml" xmlns:a="http://a.test/" xmlns:A="http://b.test/">
        <body><p property="A:x">y</p></body></html>""".encode()
    for media_type, expected in (("application/xhtml+xml", "<http://b.test/x>"), ("text/html", "<http://a.test/x>")):
        assert [fact.predicate for fact in extract(body, ADDRESS, media_type)] == [expected]


def test_the_version_can_be_given() -> None:
    page = f"<html {SPACES}><body>{TYPED}</body></html>".encode()
    counts = {
        version: [fact.subject for fact in extract(page, ADDRESS, rdfa_version=version)]
        for version in (None, "1.0", "1.1")
    }
    assert counts[None] == counts["1.1"] == [f"<{ADDRESS}#me>", f"<{ADDRESS}>"]
    assert counts["1.0"][0] == counts["1.0"][1] != f"<{ADDRESS}>"


def test_attributes_ignored_for_the_version_give_notices() -> None:
    found = extract(old('<p prefix="x: http://x.test/" property="x:y name">z</p>').encode(), ADDRESS)
    assert [notice.kind for notice in found.notices] == ["unresolved-curie", "unresolved-term", "rdfa-version"]
    assert all("RDFa 1.0" in notice.says for notice in found.notices)
