"""Names with several spellings have one canonical spelling, and nothing else is changed."""

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from tests.extract.pages import ADDRESS, script

from gossamer.extract.origins import packed, unpacked
from gossamer.extract.page import Unified, extract, unified
from gossamer.extract.terms import iri_term
from gossamer.extract.vocabularies import canonical, iri_of, may_vary
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.values.page import ntriples
from gossamer.values.url import Url, url_of


@pytest.mark.parametrize(
    ("spelling", "one"),
    [
        ("https://schema.org/Person", "http://schema.org/Person"),
        ("http://www.schema.org/Person", "http://schema.org/Person"),
        ("HTTPS://WWW.Schema.org/Person", "http://schema.org/Person"),
        ("https://schema.org/", "http://schema.org/"),
        ("https://ogp.me/ns#title", "http://ogp.me/ns#title"),
        ("https://ogp.me/ns/article#tag", "http://ogp.me/ns/article#tag"),
        ("https://example.de/%C3%BCber", "https://example.de/über"),
        ("https://example.de/%c3%bcber?q=%E6%97%A5#%F0%9F%98%80", "https://example.de/über?q=日#😀"),
        ("https://xn--bcher-kva.de/", "https://bücher.de/"),
        ("https://BÜCHER.de:8080/x", "https://bücher.de:8080/x"),
        ("https://b%C3%9Ccher.de/", "https://bücher.de/"),
    ],
)
def test_a_variant_has_a_canonical_spelling(spelling: str, one: str) -> None:
    assert canonical(spelling) == one == canonical(one)
    assert may_vary(f"<{spelling}> <http://a/> <http://b/> .\n".encode())


@pytest.mark.parametrize(
    "iri",
    [
        "http://schema.org/Person",
        "https://schema.org.evil.test/Person",
        "https://notschema.org/Person",
        "https://pending.schema.org/Person",
        "https://xmlns.com/foaf/0.1/name",
        "https://ogp.me/other#title",
        "https://example.de/a%20b%2Fc%25d%3Fe%7E",
        "https://example.de/%C3",
        "https://example.de/%C3%28",
        "https://example.de/%ED%A0%80",
        "https://example.de/%EE%80%80",
        "https://example.de/%E2%80%8E",
        "https://example.de/%C0%AF",
        "https://xn--a/",
        "https://EXAMPLE.de/",
        "urn:isbn:%C3%BC",
        "mailto:m%C3%BC@example.de",
    ],
)
def test_other_iris_are_unchanged(iri: str) -> None:
    assert canonical(iri) == iri


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="aÜüß日😀%C3BFE2809/.:?#x\u200e\ue000 -", max_size=30))
def test_the_iri_of_a_url_leads_to_the_same_url(tail: str) -> None:
    url = url_of("https://xn--bcher-kva.test/" + tail)
    if url is not None:
        iri = iri_of(url.text)
        assert iri_of(iri) == iri
        again = ada_url.normalize_url(iri)
        assert again.lower() == url.text.lower()  # escapes are not case-sensitive (RFC 3986, 6.2.2.1)
        if iri_term(url.text) == f"<{url.text}>":
            NamedNode(canonical(url.text))


def read(markup: str) -> Unified:
    body = markup.encode()
    found = extract(scan_html(parse_html(body).tree).survey(), Url(ADDRESS), 1, body)
    return unified(found, ntriples(found.triples))


def test_a_fact_spelled_differently_in_two_syntaxes_is_one_fact_of_both() -> None:
    product = '{"@context": "https://schema.org", "@id": "#a", "@type": "Product", "name": "Pot"}'
    markup = (
        script(product) + '<p vocab="https://schema.org/" resource="#a" typeof="Product"><b property="name">Pot</b></p>'
    )
    facts, forms = read(markup)
    names = [fact for fact in facts.triples if fact.object == '"Pot"']
    assert [fact.predicate for fact in names] == ["<http://schema.org/name>"]
    at = facts.triples.index(names[0])
    assert facts.stated_in[at] == 0b11
    assert forms[at].predicate == "<https://schema.org/name>"  # RDFa comes first: its place and spelling are kept


def test_the_spelling_of_the_page_is_kept_with_the_origin_of_the_fact() -> None:
    markup = (
        '<div itemscope itemtype="https://schema.org/Thing" itemid="http://a.test/%C3%BC">'
        '<b itemprop="name">x</b><a itemprop="url" href="/y">y</a></div>'
        '<p vocab="http://schema.org/"><i property="name" datatype="https://schema.org/Text">z</i></p>'
    )
    facts, forms = read(markup)
    record = unpacked(packed(facts, ntriples(facts.triples), forms))
    assert record is not None
    found = {}
    for fact in facts.triples:
        source = record.of(" ".join(fact).encode())
        assert source is not None
        found[fact.object] = source.spelling
    assert found['"x"'] == '<http://a.test/%C3%BC> <https://schema.org/name> "x"'
    assert found["<http://schema.org/Thing>"].endswith("#type> <https://schema.org/Thing>")
    assert (
        found['"z"^^<http://schema.org/Text>'] == f'<{ADDRESS}> <http://schema.org/name> "z"^^<https://schema.org/Text>'
    )
    assert found["<http://schema.org/>"] == ""  # spelled as on the page
    assert all("https://schema.org" not in " ".join(fact) for fact in facts.triples)


def test_a_page_without_variants_is_unchanged() -> None:
    facts, forms = read('<p vocab="http://schema.org/" typeof="Thing"><b property="name">100 % http://x.test</b></p>')
    assert len(facts.triples) == 3 and forms == {}
    assert not may_vary(ntriples(facts.triples))
