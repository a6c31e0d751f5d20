import json

import ada_url
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extract.pages import parses_again, read, script

from gossamer.extract.terms import UNKNOWN_LANGUAGE, Labels, absolute, iri_term, language_suffix, quoted
from gossamer.values.page import Triple, ntriples

BASE = "https://shop.example/teapots/blue.html"
NASTY = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)


def test_F_G4_literals_are_parsed_back_unchanged() -> None:
    for words in ('say "so"', "back\\slash", "two\nlines\r\t", "\x00\x07\x7f\x85", "é 漢 🫖", ""):
        line = ntriples([Triple("<http://a/>", "<http://b/>", quoted(words))])
        (again,) = ox.parse(line, format=ox.RdfFormat.N_TRIPLES)
        assert again.object == ox.Literal(words)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("http://a.example/x", "<http://a.example/x>"),
        ("http://a.example", "<http://a.example>"),
        ("http://a.example/a b", "<http://a.example/a%20b>"),
        ("http://a.example/a\n>b", "<http://a.example/a%3Eb>"),
        ("http://a.example/[x]|{y}", "<http://a.example/%5Bx%5D%7C%7By%7D>"),
        ("http://a.example/%zz", "<http://a.example/%25zz>"),
        ("http://a.example/#a#b", "<http://a.example/#a%23b>"),
        ("http://a.example/é", "<http://a.example/é>"),
        ("http://a.example/\ue000", "<http://a.example/%EE%80%80>"),
        ("javascript:alert(1)", "<javascript:alert(1)>"),
        ("http://[bad/", None),
        ("http://a b/", None),
        ("no scheme", None),
        ("", None),
        ("http://a.example/" + "x" * 100_000, None),
    ],
)
def test_F_G4_an_iri_is_repaired_or_left_out(text: str, term: str | None) -> None:
    assert iri_term(text) == term


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", BASE),
        ("#a", BASE + "#a"),
        ("/x", "https://shop.example/x"),
        ("/x?q=1", "https://shop.example/x?q=1"),
        ("/a/../x", "https://shop.example/x"),
        ("x.html", "https://shop.example/teapots/x.html"),
        ("//other.example/x", "https://other.example/x"),
        ("?q", BASE + "?q"),
        ("  /x ", "https://shop.example/x"),
        ("http://other.example", "http://other.example"),
        ("mailto:me@shop.example", "mailto:me@shop.example"),
    ],
)
def test_relative_urls_are_joined_with_the_base(text: str, whole: str) -> None:
    assert absolute(text, BASE) == whole


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(["", "/", "//", "//a.example/", "//a.example:", "//a.example:80/", "//a.example:443/", "//xn--a."]),
    st.text(alphabet="abz019./:?#-_%~xn@&=;\\ \t\xfc", max_size=20),
)
def test_joining_without_a_parser_gives_the_result_of_the_parser(start: str, rest: str) -> None:
    text = (start + rest).strip(" \t")
    whole = absolute(text, BASE)
    if not text or text[0] == "#" or ":" in text.partition("/")[0]:
        return  # handled before anything is joined
    try:
        parsed = ada_url.join_url(BASE, text)
    except ValueError:
        assert whole is None
        return
    assert whole is not None
    assert ada_url.normalize_url(whole).lower() == parsed.lower()  # the same URL, perhaps in another spelling
    if text.isascii():
        assert whole == parsed
    elif "\xfc" in text.partition("//")[2].partition("/")[2]:
        assert "\xfc" in whole


def test_languages_are_written_in_lower_case_and_invalid_ones_left_out() -> None:
    assert language_suffix(" en-US ") == "@en-us"
    assert language_suffix("en_US") == language_suffix("") == ""
    assert language_suffix("x" * 10_000) == UNKNOWN_LANGUAGE


def test_F_G6_labels_consist_of_capture_and_number() -> None:
    labels = Labels(-2)
    assert [labels.new(), labels.new()] == ["_:cfffffffffffffffen1", "_:cfffffffffffffffen2"]


@settings(max_examples=300, deadline=None)
@given(NASTY, NASTY, NASTY, NASTY)
def test_F_G4_facts_of_any_attributes_can_be_parsed_again(about: str, name: str, href: str, words: str) -> None:
    def attribute(text: str) -> str:
        return text.replace("&", "&amp;").replace('"', "&quot;")

    found = read(
        f'<div vocab="http://v.example/" prefix="p: {attribute(href)}" lang="{attribute(name[:5])}">'
        f'<p about="{attribute(about)}" typeof="{attribute(name)} T" property="x {attribute(name)} p:{attribute(name)}"'
        f' content="{attribute(words)}"></p><a rel="{attribute(name)} r" href="{attribute(href)}">x</a>'
        f'<b property="y" datatype="p:{attribute(name)}">{attribute(words)}</b></div>'
    )
    assert parses_again(found)


WORDS = """
@id @type @value @language @list @set @graph @reverse @context @index @direction @included @nest
name url startDate http://ex.example/p
"""
KEYS = WORDS.split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NASTY,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            NASTY | st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["@id", "@type", "name", "url", "image", "knows", "@graph"]), JSON))
def test_F_G4_facts_of_any_script_can_be_parsed_again(body: dict[str, object]) -> None:
    text = json.dumps({"@context": "https://schema.org", **body}).replace("</", "<\\/")
    assert parses_again(read(script(text)))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet='{}[]",:/*\\ab1 \n-<!&', max_size=60))
def test_no_script_makes_it_raise(text: str) -> None:
    assert parses_again(read(script(text.encode("utf-8", "replace").decode())))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(body: bytes) -> None:
    assert parses_again(read(b'<p vocab="http://v.example/" property="' + body + b'">x'))
