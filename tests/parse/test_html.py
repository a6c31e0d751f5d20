"""The HTML tree, and pages that must be cut down before it is built."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parse.html.tree import (
    DEEPEST,
    LARGEST,
    MOST_ATTRIBUTES,
    MOST_TAGS,
    flattened,
    index_of,
    is_within_limits,
    parse_html,
    scan_html,
)


def depth_of(tree):
    deepest, at = 0, tree.body
    while at is not None:
        deepest, at = deepest + 1, at.first_child
    return deepest


def test_an_ordinary_page_is_unchanged():
    body = b"<html><body>" + b"<div><p>one <b>two</b><br></p></div>" * 2000 + b"</body></html>"
    assert is_within_limits(body)
    assert parse_html(body).flags == ()


def test_an_old_page_without_end_tags_is_checked_and_unchanged():
    rows = b"<table>" + b"<tr><td>a<td>b" * 2000 + b"</table>" + b"<ul>" + b"<li>x<p>y" * 2000 + b"</ul>"
    assert not is_within_limits(rows)
    assert flattened(rows) == (rows, ())


def test_text_and_links_below_the_deepest_level_are_kept():
    tree, flags = parse_html(b"<div>a<a href=/x>b</a>" * 2000)
    assert flags == ("too-deep",)
    assert depth_of(tree) <= DEEPEST + 5
    assert tree.body.text().count("ab") == 2000
    assert len(tree.css("a[href]")) == 2000


def test_end_tags_of_dropped_elements_are_dropped_too():
    body = b"<div>" * 1000 + b"<section>x</section>" + b"</div>" * 1000 + b"<p>after"
    tree, _ = parse_html(body)
    assert tree.css_first("body > p").text() == "after"


def test_the_first_attributes_of_a_tag_are_kept():
    names = b" ".join(b"a%d=1" % n for n in range(20_000))
    tree, flags = parse_html(b"<p id=x " + names + b">text")
    assert flags == ("truncated",)
    assert len(tree.css_first("p").attributes) == MOST_ATTRIBUTES
    assert tree.css_first("#x").text() == "text"


def test_quotes_do_not_hide_nesting():
    assert flattened(b"<x a=b'>" + b"<div>" * 2000 + b"'")[1] == ("too-deep",)


def test_markup_in_scripts_and_comments_is_ignored():
    for shell in (b"<script>%b</script>", b"<!--%b-->", b"<style>%b</style>"):
        body = shell % (b"<div>" * 2000) + b"<p>x</p>"
        assert flattened(body) == (body, ())


def test_unclosed_formatting_is_not_reopened_endlessly():
    marks = b"".join(b"<b id=%d>" % n for n in range(500))
    tree, flags = parse_html(b"<p>" + marks + b"</p>" + b"<p>x</p>" * 20_000)
    assert "too-deep" in flags
    assert len(tree.css("*")) < 1_000_000
    assert len(tree.css("p")) == 20_001


def test_a_page_larger_than_the_limit_is_cut():
    tree, flags = parse_html(b"<p>first</p>" + b"x" * LARGEST)
    assert flags == ("truncated",)
    assert tree.css_first("p").text() == "first"


def test_tags_beyond_the_limit_are_cut_off():
    _, flags = flattened(b"<i></i>" * MOST_TAGS)
    assert flags == ("truncated",)


def test_invalid_utf_8_is_read_as_replacement_characters():
    assert parse_html(b"<p>\xff\xfe</p>").tree.css_first("p").text() == "\ufffd\ufffd"


@pytest.mark.parametrize("body", [b"", b"\0", b"<", b"</", b"<!--", b"<!DOCTYPE", b"<frameset>", b"\xff" * 10])
def test_fragments_of_markup_are_parsed(body):
    assert parse_html(body).flags == ()


WORDS = (
    "<div> </div> <p> <b> </b> <a href=x> </a> <table> <tr> <td> </table> <!-- --> <script> </script> <svg> <g/> "
    "</svg> ' \" = > < text <p a='> <select> <option> <li> </p> <template> <title>"
)
FRAGMENTS = st.sampled_from(WORDS.split(" "))


@settings(max_examples=200, deadline=None)
@given(st.lists(FRAGMENTS, max_size=60))
def test_flattening_a_page_within_the_limits_changes_nothing(fragments):
    body = "".join(fragments).encode()
    assert flattened(body) == (body, ())


def test_elements_with_links_or_statements_are_listed_once_in_document_order():
    seen = scan_html(
        parse_html(
            b"<head><meta name=a><base href=/><script></script></head>"
            b'<p TypeOf="Thing" property=x>1</p><p>2</p><p vocab="">3</p><a>no</a><a href=/x rel=next property=y>4</a>'
            b"<div itemscope><span href=/none>5</span><iframe></iframe></div><a rel=me>6</a><p rev=made>7</p>"
        ).tree
    )
    listed = [(tag, sorted(attributes)) for _, tag, attributes in seen.elements]
    assert listed == [
        ("meta", ["name"]),
        ("base", ["href"]),
        ("script", []),
        ("p", ["property", "typeof"]),
        ("p", ["vocab"]),
        ("a", ["href", "property", "rel"]),
        ("div", ["itemscope"]),
        ("iframe", []),
        ("a", ["rel"]),
        ("p", ["rev"]),
    ]


def test_frames_are_listed():
    seen = scan_html(parse_html(b"<frameset><frame src=/a><frame src=/b></frameset>").tree)
    assert [(tag, attributes["src"]) for _, tag, attributes in seen.elements] == [("frame", "/a"), ("frame", "/b")]


def test_an_element_is_found_among_those_with_its_tag():
    seen = scan_html(parse_html(b"<p>1<b>2</b><p>3<b>4</b>").tree)
    for at, node in enumerate(seen.nodes):
        assert [index_of(node, seen.nodes, seen.tags, start) for start in range(at + 1)] == [at] * (at + 1)
