"""Links, their texts, and the base of relative URLs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parse.html.links import LONGEST_TEXT, _Joiner, links_of
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.values.page import MOST_LINKS
from gossamer.values.url import Url, url_of

PAGE = Url("https://www.example.org/a/page.html?q=1")


def found(markup, page=PAGE, may_follow=True):
    return links_of(scan_html(parse_html(markup.encode()).tree), page, may_follow)


def pairs(markup):
    return [(link.url.text, link.text) for link in found(markup).links]


def test_urls_are_made_absolute_and_keep_their_link_texts():
    assert pairs('<a href="b">B</a><a href="/c"> C \n c </a><a href="//x.example">X</a><a href="?n=2">N</a>') == [
        ("https://www.example.org/a/b", "B"),
        ("https://www.example.org/c", "C c"),
        ("https://x.example/", "X"),
        ("https://www.example.org/a/page.html?n=2", "N"),
    ]


def test_a_url_is_listed_once_with_its_first_text():
    assert pairs('<a href="/x"><img></a><a href="/x#top">First</a><a href="/x">Second</a>') == [
        ("https://www.example.org/x", "First")
    ]


def test_fragments_of_the_page_itself_and_other_schemes_are_not_links():
    assert (
        pairs(
            '<a href="#x">a</a><a href="page.html?q=1#y">b</a><a href="mailto:a@b.example">c</a>'
            '<a href="javascript:x()">d</a>'
            '<a href="">e</a><a href="ftp://f.example/">f</a><a>g</a><a href="http://[">h</a>'
        )
        == []
    )


def test_words_are_joined_across_inline_elements_and_separated_across_blocks():
    assert pairs('<a href="/x"><b>J</b>ohn<div>Doe</div><div>Jr</div>!<br>x</a>') == [
        ("https://www.example.org/x", "John Doe Jr ! x")
    ]


def test_the_text_of_a_picture_is_its_alternative_text():
    assert pairs(
        '<a href="/x"><img alt="A  cat"></a><map><area href="/y" alt="Dog"></map><a href="/z" title="T"></a>'
    ) == [
        ("https://www.example.org/x", "A cat"),
        ("https://www.example.org/y", "Dog"),
        ("https://www.example.org/z", "T"),
    ]


def test_nofollow_applies_to_the_link_or_the_whole_page():
    markup = (
        '<a href="/a" rel="external NoFollow">a</a><a href="/b">b</a><a rel=nofollow href="/c">c</a><a href="/c">c</a>'
    )
    assert [link.may_follow for link in found(markup).links] == [False, True, True]
    assert [link.may_follow for link in found(markup, may_follow=False).links] == [False, False, False]


def test_relations_in_the_head_are_links_when_they_lead_to_pages():
    links = found(
        '<link rel="stylesheet" href="/s.css"><link rel="canonical" href="/c"><link rel=next href="/n">'
        '<link rel="icon" href="/i"><link rel="alternate stylesheet" href="/t.css"><link rel="canonical" href="/d">'
    )
    assert [link.url.path for link in links.links] == ["/c", "/n", "/d"]
    assert links.canonical == Url("https://www.example.org/c")


def test_frames_are_links():
    assert pairs('<iframe src="/f" title="F"></iframe>') == [("https://www.example.org/f", "F")]
    assert pairs('<frameset><frame src="/g"></frameset>') == [("https://www.example.org/g", "")]


def test_F_M4_only_the_first_base_is_used_and_only_if_it_is_http():
    assert found('<base href="/b/"><base href="/c/"><a href="x">x</a>').links[0].url.path == "/b/x"
    for bad in ("javascript:alert(1)", "file:///etc/", "data:text/html,x", "about:blank", ""):
        assert found(f'<base href="{bad}"><a href="x">x</a>').base == PAGE
    assert found('<base target="_top"><base href="http://other.example/d/"><a href="x">x</a>').links[0].url == Url(
        "http://other.example/d/x"
    )


def test_F_U1_links_beyond_the_limit_are_left_out_and_flagged():
    links = found("".join(f'<a href="/{n}">x</a>' for n in range(MOST_LINKS + 10)))
    assert len(links.links) == MOST_LINKS
    assert links.flags == ("too-many-links",)


def test_F_U1_a_url_that_is_too_long_is_not_a_link():
    assert pairs(f'<a href="/{"x" * 100_000}">x</a>') == []


def test_F_U9_user_and_password_are_stripped():
    assert pairs('<a href="https://me:secret@x.example/p">x</a>') == [("https://x.example/p", "x")]


def test_link_texts_are_clipped():
    assert len(found(f'<a href="/x">{"word " * 1000}</a>').links[0].text) == LONGEST_TEXT


def test_the_text_of_nested_anchors_is_not_read_repeatedly():
    nested = "".join(f'<a href="/{n}"><object>' for n in range(240)) + "x " * 200_000
    assert len(found(nested).links) == 240


BASES = [Url("https://www.example.org/a/b?x=/y"), Url("http://h.example/"), Url("https://h.example:8080/q/")]
STARTS = st.sampled_from(
    [
        "",
        "/",
        "http://",
        "https://",
        "https://a.example/",
        "//",
        "../",
        "x/",
        "https://xn--a.",
        "http://1.2.",
        "http:",
        "//a.example/",
        "//a.example:",
        "//a.example:80",
        "https://a.example:4",
        "http://a.example:6553",
        "//xn--a.",
    ]
)


@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(BASES), STARTS, st.text(alphabet="abz019./:?#-_%~xnhtp@&=;\\ \t\xfc", max_size=25))
def test_joining_without_a_parser_gives_the_result_of_the_parser(base, start, rest):
    url = url_of(start + rest, base)
    assert _Joiner(base).join(start + rest) == (url.text if url else None)


@pytest.mark.parametrize(
    "text",
    [
        "/a/./b",
        "/a/../b",
        "/%7euser",
        "/a b",
        "https://EXAMPLE.org",
        "https://x.example:443/",
        "//x.example:80/",
        "//1.2.3.4/",
        "http://x.example:60000/",
        "//xn--a.example/",
    ],
)
def test_urls_that_need_a_parser_are_parsed(text):
    assert _Joiner(PAGE)._plainly(text) is None
    assert _Joiner(PAGE).join(text) == url_of(text, PAGE).text
