"""The origin of each fact of a page, packed and unpacked; every path is checked against the tree."""

import random
import re
import zlib
from pathlib import Path

import msgspec
import pyoxigraph as ox
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from selectolax.lexbor import LexborNode
from tests.extract.pages import ADDRESS, script

from gossamer.extract.origins import (
    _UNCHANGED,
    DEFLATED,
    PLAIN,
    FactOrigin,
    Record,
    _stored,
    packed,
    stored_form,
    text_of,
    unpacked,
)
from gossamer.extract.page import extract
from gossamer.extract.source import SYNTAXES, Extraction
from gossamer.extract.terms import XSD
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import parse_xml
from gossamer.values.page import Triple, ntriples
from gossamer.values.tree import Element
from gossamer.values.url import Url

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "corpus" / "structured-pages"
VOCAB = '<body vocab="http://schema.org/">'


def read(markup: str | bytes) -> tuple[Extraction, Record]:
    body = markup.encode() if isinstance(markup, str) else markup
    found = extract(scan_html(parse_html(body).tree).survey(), Url(ADDRESS), 1, body)
    record = unpacked(packed(found, ntriples(found.triples)))
    assert record is not None
    return found, record


def line(triple: Triple) -> bytes:
    return " ".join(triple).encode()


def paths(markup: str) -> dict[str, str]:
    """The path of each fact, by its object."""
    found, record = read(markup)
    sources = {triple.object: record.of(line(triple)) for triple in found.triples}
    return {value: source.path for value, source in sources.items() if source is not None}


def element_at(root: Element, path: str) -> Element:
    """The element at one of our XPaths, found step by step without an XPath library."""
    first, *steps = path.strip("/").split("/")
    assert first == root.tag
    at = root
    for step in steps:
        matched = re.fullmatch(r"([^\[]+)(?:\[(\d+)\])?", step)
        assert matched is not None
        tag, number = matched[1], matched[2]
        like = [child for child in at.iter() if tag in ("*", child.tag)]
        assert number or len(like) == 1, f"{step} of {path} is ambiguous"
        at = like[int(number or 1) - 1]
    return at


def agrees(found: Extraction, record: Record, root: Element) -> int:
    for triple, place, stated_in in zip(found.triples, found.places, found.stated_in, strict=True):
        source = record.of(line(triple))
        assert source is not None
        assert element_at(root, source.path).mem_id == place.mem_id
        assert source.syntaxes == tuple(name for bit, name in enumerate(SYNTAXES) if stated_in >> bit & 1)
    return len(found.triples)


def test_a_path_numbers_siblings_of_one_name_only_where_needed() -> None:
    markup = f"""{VOCAB}<div typeof=Thing><p property=name>a</p><b></b><p property=name>b</p></div>
    <main><h1 property=name>c</h1></main><div><span property=name>d</span></div>"""
    found = paths(markup)
    assert found['"a"'] == "/html/body/div[1]/p[1]"
    assert found['"b"'] == "/html/body/div[1]/p[2]"
    assert found['"c"'] == "/html/body/main/h1"
    assert found['"d"'] == "/html/body/div[2]/span"


def test_elements_with_names_invalid_in_xpath_are_given_by_number() -> None:
    long = "x" * 41
    markup = f"""{VOCAB}<i></i><o:p property=name>a</o:p><{long} property=name>b</{long}><a[2] property=name>c</a[2]>
    <u><o:p property=name>d</o:p></u>"""
    found = paths(markup)
    assert [found[f'"{name}"'] for name in "abcd"] == [
        "/html/body/*[2]",
        "/html/body/*[3]",
        "/html/body/*[4]",
        "/html/body/u/*",
    ]


def test_a_fact_stated_in_two_syntaxes_names_both_and_the_first_place() -> None:
    own = "https://shop.example/teapots/blue.html#it"
    product = f'{{"@context": "https://schema.org", "@id": "{own}", "name": "Pot"}}'
    markup = f"""{VOCAB}<p resource="#it"><b property=name>Pot</b><i property=url>x</i></p>
    <script type="application/ld+json">{product}</script>"""
    found, record = read(markup)
    name = f'<{own}> <http://schema.org/name> "Pot"'.encode()
    assert record.of(name) == FactOrigin(("rdfa", "json-ld"), "/html/body/p/b")
    assert record.of(f'<{own}> <http://schema.org/url> "x"'.encode()) == FactOrigin(("rdfa",), "/html/body/p/i")
    assert record.of(name + b"@en") is None
    assert len(record) == len(found.triples)


def test_a_page_without_facts_has_no_record() -> None:
    empty = Extraction([], [], [], (), ())
    assert packed(empty, b"") == b""
    assert unpacked(b"") is None


DAMAGED = [
    b"\x00",
    b"\x01",
    b"\x02\x90",
    b"\x00\x90",
    b"\x01\xff\xff",
    PLAIN + msgspec.msgpack.encode([[], ["a"], [], b"", [], []]),
    PLAIN + msgspec.msgpack.encode([["rdfa"], ["a"], [0], b"123", [0], []]),
    DEFLATED + zlib.compress(b"\xc1", 1, -15),
]


@pytest.mark.parametrize("record", DAMAGED)
def test_a_damaged_record_is_none(record: bytes) -> None:
    assert unpacked(record) is None


def test_damaged_paths_end() -> None:
    """A damaged record with endless steps: the path is short."""
    fact = b"<a:s> <a:p> <a:o>"
    for above, place in (([5, 7], 1), ([0, 1], 9), ([0, -1], 1), ([1, 1], 0)):
        hashes = xxhash.xxh32_intdigest(fact).to_bytes(4, "little")
        record = unpacked(PLAIN + msgspec.msgpack.encode([["rdfa"], ["a", "b"], above, hashes, [place], []]))
        assert record is not None and (found := record.of(fact)) is not None
        assert len(found.path) < 10


def test_facts_that_are_equal_in_the_store_are_one_in_the_record() -> None:
    whole = f"{XSD}integer"
    markup = f"""<p about=#it><b property="http://a.test/n" datatype="{whole}">01</b>
    <i property="http://a.test/n" datatype="{whole}">1</i></p>"""
    found, record = read(markup)
    assert len(found.triples) == 2 and len(record) == 1
    for triple in found.triples:
        source = record.of(line(triple))
        assert source is not None and source.path == "/html/body/p/b"


LITERALS = [
    ("007", "integer"), ("+7", "int"), ("1.50", "decimal"), ("1e3", "double"), ("1", "boolean"), ("x", "string"),
    ("2012-03-18T24:00:00Z", "dateTime"), ("2012-03-18T00:00:00.10+00:00", "dateTime"), ("P1Y13M", "duration"),
    ("12:00:00.0", "time"), ("-0", "integer"), ("not a number", "integer"), ("2012-03", "gYearMonth"),
    ("é\n\"\\\x7f", "string"),
    ("9" * 400, "integer"), ("0" * 400 + "1", "integer"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), LITERALS)
def test_a_literal_is_found_in_the_form_that_the_store_returns(text: str, kind: str) -> None:
    named = ox.NamedNode("http://a.test/s")
    literal = ox.Literal(text, datatype=ox.NamedNode(XSD + kind))
    store = ox.Store()
    store.add(ox.Quad(named, named, literal))
    (held,) = store
    assert isinstance(held.object, ox.Literal)
    before = f"<{named.value}> <{named.value}> {text_of(literal)}".encode()
    after = f"<{named.value}> <{named.value}> {text_of(held.object)}".encode()
    assert stored_form(before) == stored_form(after) == after


@given(
    st.from_regex(_UNCHANGED, fullmatch=True).map(
        lambda one: re.sub(rb"<.*#", f"<{XSD}".encode(), one, flags=re.DOTALL)
    )
)
def test_literals_expected_to_stay_unchanged_in_the_store_do(literal: bytes) -> None:
    assert _stored(literal) == literal


def test_many_siblings_and_deep_nesting_take_linear_time() -> None:
    many = "".join(f"<p property=name>n{number}</p><o:p></o:p>" for number in range(20_000))
    found, record = read(f"{VOCAB}<div typeof=Thing>{many}</div>")
    at = random.Random(1).sample(range(len(found.triples)), 200)
    for triple in [found.triples[one] for one in at if found.triples[one].predicate.endswith("name>")]:
        source = record.of(line(triple))
        number = int(triple.object.strip('"n')) + 1
        assert source is not None and source.path == f"/html/body/div/p[{number}]"
    deep = "<div><span property=name>x</span>" * 400
    found, record = read(f"{VOCAB}{deep}")
    source = record.of(line(found.triples[-1]))
    assert source is not None and len(source.path) < 20_000


def test_two_facts_with_the_same_short_hash_are_distinguished() -> None:
    """Of 50,000 facts some share 32 bits; the record then has longer hashes."""
    body = "".join(f"<p property=name>n{number}</p>" for number in range(49_900))
    found, record = read(f"{VOCAB}<div typeof=Thing>{body}</div>")
    assert len(record) == len(found.triples)
    wrong = [one for one in found.triples if (source := record.of(line(one))) is None or not source.path]
    assert wrong == []


def test_xml_pages_have_the_same_paths_as_in_lxml() -> None:
    body = b"""<doc xmlns:s="http://schema.org/"><part about="http://a.test/x"><b property="s:name">a</b>
    <b property="s:name">b</b><!-- c --><c><d property="s:name">d</d></c></part>
    <part property="s:name">e</part></doc>"""
    survey = parse_xml(body)
    assert survey is not None
    found = extract(survey, Url(ADDRESS), 1, body)
    record = unpacked(packed(found, ntriples(found.triples)))
    assert record is not None and survey.root is not None
    agrees(found, record, survey.root)
    tree = etree.ElementTree(etree.fromstring(body))
    for triple in found.triples:
        source = record.of(line(triple))
        assert source is not None
        (element,) = tree.xpath(source.path)
        assert tree.getpath(element) == source.path


def test_the_same_page_has_the_same_record() -> None:
    body = (VOCAB + "<p typeof=Thing><b property=name>x</b></p>" + script('{"@type": "http://a.test/T"}')).encode()
    made = set()
    for _ in range(3):
        found = extract(scan_html(parse_html(body).tree).survey(), Url(ADDRESS), 1, body)
        made.add(packed(found, ntriples(found.triples)))
    assert len(made) == 1


@pytest.mark.skipif(not REAL.is_dir(), reason="the real pages are not here")
def test_every_fact_of_real_pages_is_found_in_its_stored_form_within_few_bytes() -> None:
    facts = octets = 0
    for path in sorted(REAL.glob("*.html")):
        body = path.read_bytes()
        tree = parse_html(body).tree
        found = extract(scan_html(tree).survey(), Url(ADDRESS), 1, body)
        lines = ntriples(found.triples)
        kept = packed(found, lines)
        record = unpacked(kept)
        if record is None:
            assert not found.triples
            continue
        assert isinstance(tree.root, LexborNode)
        agrees(found, record, tree.root)
        store = ox.Store()
        store.extend(
            [ox.Quad(t.subject, t.predicate, t.object) for t in ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)]
        )
        for quad in store:
            terms = [
                text_of(term) for term in (quad.subject, quad.predicate, quad.object) if not isinstance(term, ox.Triple)
            ]
            assert record.of(" ".join(terms).encode()) is not None, quad
        facts += len(found.triples)
        octets += len(kept)
    assert facts > 500 and octets <= 20 * facts
