"""Microformats as canonical JSON, rule by rule."""

from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.extract.canonical_json import parsed

from gossamer.extract.microformats.reader import MOST_ITEMS, items_of
from gossamer.extract.microformats.tree import MOST_CHARACTERS
from gossamer.extract.microformats.values import time_from_parts
from gossamer.parse.html.tree import scan_html

BASE = "https://blog.example/posts/1"


def items(markup: str) -> list[dict[str, Any]]:
    found = parsed(scan_html(LexborHTMLParser(markup)).survey(), BASE)["items"]
    assert isinstance(found, list)
    return found


def properties(markup: str) -> Any:
    return items(markup)[0]["properties"]


def card(inside: str) -> Any:
    return properties(f'<div class="h-card">{inside}</div>')


def test_a_property_belongs_to_the_nearest_enclosing_item() -> None:
    found = items('<div class="h-entry"><p class="p-name">Post</p><div class="p-author h-card">Ann</div></div>')
    assert found == [
        {
            "type": ["h-entry"],
            "properties": {
                "name": ["Post"],
                "author": [{"type": ["h-card"], "properties": {"name": ["Ann"]}, "value": "Ann"}],
            },
        }
    ]


def test_an_item_that_is_not_a_property_is_a_child() -> None:
    found = items('<div class="h-feed"><p class="h-entry">One</p><p class="h-entry">Two</p></div>')
    assert [child["properties"]["name"] for child in found[0]["children"]] == [["One"], ["Two"]]
    assert found[0]["properties"] == {}


@pytest.mark.parametrize("name", ["h-card", "h-x-app", "h-8-vendor-card"])
def test_root_names_are_in_lower_case(name: str) -> None:
    assert items(f'<p class="{name}">x</p>')[0]["type"] == [name]


@pytest.mark.parametrize("name", ["h-", "h-100", "H-card", "h-Card", "h-car_d", "h--card", "h-card-", "h-full", "h-px"])
def test_names_that_only_resemble_roots_are_ignored(name: str) -> None:
    assert items(f'<p class="{name}">x</p>') == []


def test_texts_include_alternative_texts_and_exclude_scripts() -> None:
    words = '<p class="p-note">A <img src="a.png" alt="cat"> <img src="/b.png"><script>x</script><style>y</style></p>'
    assert card(words) == {"note": ["A cat  https://blog.example/b.png"]}


def test_urls_are_absolute_and_keep_the_alternative_text() -> None:
    found = card('<img class="u-photo" src="me.jpg" alt="Me"><a class="u-url" href="/">x</a><b class="u-key">k</b>')
    assert found["photo"] == [{"value": "https://blog.example/posts/me.jpg", "alt": "Me"}]
    assert (found["url"], found["key"]) == (["https://blog.example/"], ["https://blog.example/posts/k"])


def test_markup_keeps_its_tags_and_its_urls_become_absolute() -> None:
    found = card('<div class="e-note"> <p>a &lt; b &amp; c<br><a href="x" title=\'"\'>y</a></p><!-- no --> </div>')
    assert found["note"] == [
        {
            "html": '<p>a &lt; b &amp; c<br><a href="https://blog.example/posts/x" title="&quot;">y</a></p>',
            "value": "a < b & cy",
        }
    ]


def test_the_parts_of_one_value_are_joined() -> None:
    found = card(
        '<p class="p-tel">x <b class="value">+1</b> <abbr class="value" title="23">?</abbr>'
        '<i class="p-note"><b class="value">9</b></i></p>'
    )
    assert found == {"tel": ["+123"], "note": ["9"]}


@pytest.mark.parametrize(
    ("parts", "moment"),
    [
        (["2013-06-25", "7:00am"], "2013-06-25 07:00"),
        (["2013-06-25", "12:30 p.m."], "2013-06-25 12:30"),
        (["2013-06-25", "12am"], "2013-06-25 00:00"),
        (["19:00:05-08:00", "2013-034"], "2013-034 19:00:05-0800"),
        (["19:00"], "2001-02-03 19:00"),
        (["2013-06-25", "19:00", "z"], "2013-06-25 19:00Z"),
        (["2013-06-25T19:00+01:00", "2014-01-01"], "2013-06-25T19:00+01:00"),
        (["soon"], ""),
    ],
)
def test_dates_and_times_are_combined_from_their_parts(parts: list[str], moment: str) -> None:
    assert time_from_parts(parts, "2001-02-03") == moment


def test_a_time_without_date_takes_the_preceding_date() -> None:
    found = properties(
        '<p class="h-event"><time class="dt-start" datetime="2012-06-30T09:00">x</time>'
        '<b class="dt-end"><i class="value">17:00</i></b></p>'
    )
    assert found["end"] == ["2012-06-30 17:00"]


def test_name_photo_and_url_are_implied_when_not_given() -> None:
    assert properties('<a class="h-card" href="/ann"><img src="a.jpg" alt="Ann"></a>') == {
        "name": ["Ann"],
        "photo": [{"value": "https://blog.example/posts/a.jpg", "alt": "Ann"}],
        "url": ["https://blog.example/ann"],
    }


@pytest.mark.parametrize(
    "inside",
    ['<b class="p-org">O</b>', '<b class="e-note">O</b>', '<b class="h-card">O</b>', '<b class="p-name">O</b>'],
)
def test_no_name_is_implied_when_other_text_properties_are_given(inside: str) -> None:
    assert card(f"Ann {inside}").get("name") in (None, ["O"])


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ("vcard", "h-card"),
        ("vevent", "h-event"),
        ("hentry", "h-entry"),
        ("hfeed", "h-feed"),
        ("hreview", "h-review"),
        ("hproduct", "h-product"),
        ("hrecipe", "h-recipe"),
        ("hresume", "h-resume"),
        ("adr", "h-adr"),
        ("geo", "h-geo"),
    ],
)
def test_old_roots_get_new_names_and_imply_nothing(root: str, kind: str) -> None:
    assert items(f'<p class="{root}">words</p>') == [{"type": [kind], "properties": {}}]


def test_old_properties_apply_only_in_old_roots_and_new_ones_only_in_new() -> None:
    assert properties('<p class="vcard"><b class="fn">Ann</b><b class="p-note">x</b></p>') == {"name": ["Ann"]}
    assert properties('<p class="h-card"><b class="fn">Ann</b><b class="p-note">x</b></p>') == {"note": ["x"]}


def test_the_author_of_an_old_entry_is_a_card_even_without_a_class() -> None:
    found = properties('<div class="hentry"><a class="author" href="/ann">Ann</a></div>')
    assert found["author"][0]["type"] == ["h-card"]
    assert found["author"][0]["properties"] == {"name": ["Ann"], "url": ["https://blog.example/ann"]}


def test_rel_is_a_property_of_old_entries() -> None:
    found = properties('<div class="hentry"><a rel="bookmark" href="/1">x</a><a rel="tag" href="/t/a%20b/">y</a></div>')
    assert found == {"url": ["https://blog.example/1"], "category": ["a b"]}


def test_old_items_may_include_other_elements() -> None:
    found = items(
        '<p class="vcard" itemref="o"><b class="fn">Ann</b></p><p class="vcard"><a class="include" href="#o">x</a></p>'
        '<p id="o"><b class="org">Acme</b></p>'
    )
    assert [item["properties"].get("org") for item in found] == [["Acme"], ["Acme"]]


def test_items_that_include_each_other_are_cut() -> None:
    found = items(
        '<div id="a" class="vcard" itemref="b a"><b class="fn">A</b></div>'
        '<div id="b" class="vcard" itemref="a"><b class="agent vcard" itemref="a b">B</b></div>'
    )
    assert [item["type"] for item in found] == [["h-card"], ["h-card"]]


def test_relations_are_listed_by_name_and_by_url() -> None:
    page = '<a rel="me b" href="/x" title="T">one</a><a rel="me" href="/x">two</a><a href="/y">no</a>'
    found = parsed(scan_html(LexborHTMLParser(page)).survey(), BASE)
    assert found["rels"] == {"me": ["https://blog.example/x"], "b": ["https://blog.example/x"]}
    assert found["rel-urls"] == {"https://blog.example/x": {"rels": ["b", "me"], "title": "T", "text": "one"}}


def test_templates_are_not_read() -> None:
    assert card('<template class="p-note">x</template><b class="p-name">Ann</b>') == {"name": ["Ann"]}


def test_deep_nesting_repeats_no_text_beyond_the_limit() -> None:
    markup = '<div class="h-entry p-a e-b">' * 500 + "x" * 100_000
    found = items_of(scan_html(LexborHTMLParser(markup)).every(), BASE)
    texts = sum(len(str(one.value)) for item in found.every for one in item.properties)
    assert texts < 2 * MOST_CHARACTERS
    assert found.flags == ["microformats-too-long"]


def test_items_beyond_the_limit_are_not_read() -> None:
    found = items_of(scan_html(LexborHTMLParser('<p class="h-card">x</p>' * (MOST_ITEMS + 5))).every(), BASE)
    assert found.flags == ["too-many-items"]


def test_several_properties_of_one_element_have_the_same_value() -> None:
    found = card(
        '<p class="p-a p-b dt-c e-d e-f"><i class="value">2001-02-03</i>!</p><img class="u-x u-y" src=z alt=w>'
    )
    assert found["a"] == found["b"] == found["c"] == ["2001-02-03"]
    assert found["d"] == found["f"] == [{"html": '<i class="value">2001-02-03</i>!', "value": "2001-02-03!"}]
    assert found["x"] == found["y"] == [{"value": "https://blog.example/posts/z", "alt": "w"}]


def test_nested_markup_is_part_of_the_outer_markup() -> None:
    found = card('<div class="e-a">1<br><div class="e-b">&lt;<!-- no --><script>"<"</script></div>2</div>')
    assert found["b"][0]["html"] == '&lt;<script>"<"</script>'
    assert found["a"][0]["html"] == f'1<br><div class="e-b">{found["b"][0]["html"]}</div>2'


def test_F_G3_many_names_for_a_long_text_do_not_multiply_it() -> None:
    names = " ".join(f"p-{'a' * length}" for length in range(1, 900))
    found = items_of(
        scan_html(LexborHTMLParser(f'<div class="h-card"><p class="{names}">' + "x" * 50_000)).every(), BASE
    )
    assert sum(len(str(one.value)) for one in found.every[0].properties) < MOST_CHARACTERS
    assert found.flags == ["microformats-too-long"]


def test_F_G3_includes_beyond_the_limit_are_flagged_once() -> None:
    inside = "".join(f"<div id=i{n}>" for n in range(200)) + "<b></b>" * 1000
    page = "".join(f"<div class=vcard itemref=i{n}>x</div>" for n in range(200)) + inside
    assert items_of(scan_html(LexborHTMLParser(page)).every(), BASE).flags == ["too-many-includes"]
