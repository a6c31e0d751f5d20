"""Microdata, rule by rule, and common errors on pages."""

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.extract.pages import ADDRESS, lines, parses_again, read

from gossamer.extract.microdata import DEEPEST, read_microdata
from gossamer.extract.source import FoundFacts, HostLanguage, Source
from gossamer.extract.terms import LONGEST_LITERAL, Labels
from gossamer.parse.html.tree import scan_html
from gossamer.parse.xml import parse_xml

T = 'itemtype="http://schema.org/Thing"'
XSD = "http://www.w3.org/2001/XMLSchema#"


def item(inside: str, more: str = "") -> str:
    return f"<div itemscope {T} {more}>{inside}</div>"


def found(markup: str, at_most: int = 50_000, collects_notices: bool = False) -> FoundFacts:
    survey = scan_html(LexborHTMLParser(markup.encode())).survey()
    return read_microdata(
        Source(survey, ADDRESS, ADDRESS, Labels(1), at_most=at_most, collects_notices=collects_notices)
    )


def notices(markup: str) -> list[str]:
    return [f"{one.level} {one.kind}" for one in found(markup, collects_notices=True).notices]


def test_properties_of_a_typed_item_belong_to_it_in_document_order() -> None:
    page = item('<b itemprop="name">Teapot</b><table><tr><td><i itemprop="color">blue</i></table>')
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:name> "Teapot"', '_:1 <s:color> "blue"']


def test_a_page_without_an_item_states_nothing() -> None:
    assert found('<p itemprop="name" itemtype="http://schema.org/Thing">x</p>') == FoundFacts()


def test_the_root_may_be_an_item() -> None:
    page = f'<html itemscope {T} lang="en"><head><meta itemprop="name" content="x"></head></html>'
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:name> "x"@en']


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ('<meta itemprop="p" content="given">', '"given"'),
        ('<b itemprop="p" content="given">shown</b>', '"given"'),
        ('<a itemprop="p" href="/x" content="given">shown</a>', '"given"'),
        ('<a itemprop="p" href="/x y">x</a>', "<https://shop.example/x%20y>"),
        ('<area itemprop="p" href="x">', "<https://shop.example/teapots/x>"),
        ('<link itemprop="p" href="#x">', f"<{ADDRESS}#x>"),
        ('<a itemprop="p" href="">x</a>', f"<{ADDRESS}>"),
        ('<a itemprop="p">no link</a>', '"no link"'),
        ('<img itemprop="p" src="a.jpg">', "<https://shop.example/teapots/a.jpg>"),
        ('<audio itemprop="p" src="a"></audio>', "<https://shop.example/teapots/a>"),
        ('<embed itemprop="p" src="a">', "<https://shop.example/teapots/a>"),
        ('<iframe itemprop="p" src="a"></iframe>', "<https://shop.example/teapots/a>"),
        ('<video itemprop="p"><source itemprop="x" src="a"></video>', None),
        ('<video itemprop="p" src="a"></video>', "<https://shop.example/teapots/a>"),
        ('<object itemprop="p" data="a"></object>', "<https://shop.example/teapots/a>"),
        ('<data itemprop="p" value="12">twelve</data>', f'"12"^^<{XSD}integer>'),
        ('<data itemprop="p" value="-1.5e3">x</data>', f'"-1.5e3"^^<{XSD}double>'),
        ('<meter itemprop="p" value=".5">x</meter>', f'".5"^^<{XSD}double>'),
        ('<data itemprop="p" value="+1" lang="en">x</data>', '"+1"'),
        ('<data itemprop="p" value="">x</data>', '""'),
        ('<data itemprop="p" lang="en">twelve</data>', '"twelve"@en'),
        ('<time itemprop="p" datetime="2026-11-15">today</time>', f'"2026-11-15"^^<{XSD}date>'),
        ('<time itemprop="p">2026-11</time>', f'"2026-11"^^<{XSD}gYearMonth>'),
        ('<time itemprop="p">2026</time>', f'"2026"^^<{XSD}gYear>'),
        ('<time itemprop="p">08:30:00</time>', f'"08:30:00"^^<{XSD}time>'),
        ('<time itemprop="p">2026-11-15T08:30:00+01:00</time>', f'"2026-11-15T08:30:00+01:00"^^<{XSD}dateTime>'),
        ('<time itemprop="p">PT2H</time>', f'"PT2H"^^<{XSD}duration>'),
        ('<time itemprop="p" datetime="2026-13-15" lang="en">x</time>', '"2026-13-15"@en'),
        ('<time itemprop="p" datetime="11-15">x</time>', '"11-15"'),
        ('<b itemprop="p">two <i>parts</i></b>', '"two parts"'),
        ('<b itemprop="p"></b>', '""'),
        ('<b itemprop="p" lang="DE">sieben</b>', '"sieben"@de'),
        ('<p lang="de"><b itemprop="p" lang="">7</b></p>', '"7"'),
        ('<div lang="de"><p><b><i itemprop="p">7</i></b></p></div>', '"7"@de'),
        ('<img itemprop="p">', None),
        ('<meta itemprop="p">', None),
        ('<a itemprop="p" href="http://[">x</a>', None),
    ],
)
def test_a_property_takes_its_value_from(element: str, value: str | None) -> None:
    stated = [line for line in lines(item(element)) if "<s:p>" in line]
    assert stated == ([] if value is None else [f"_:1 <s:p> {value}"])


def test_one_element_may_be_several_properties() -> None:
    page = item('<b itemprop="name alternateName\n http://purl.org/dc/terms/title">x</b>')
    assert lines(page)[1:] == [
        '_:1 <s:name> "x"',
        '_:1 <s:alternateName> "x"',
        '_:1 <http://purl.org/dc/terms/title> "x"',
    ]


def test_a_nested_item_is_the_value_of_its_property_in_document_order() -> None:
    inner = '<p itemprop="maker" itemscope itemtype="http://schema.org/Person"><b itemprop="name">Ada</b></p>'
    assert lines(item(f'{inner}<b itemprop="name">x</b>')) == [
        "_:1 a <s:Thing>",
        "_:1 <s:maker> _:2",
        "_:2 a <s:Person>",
        '_:2 <s:name> "Ada"',
        '_:1 <s:name> "x"',
    ]


def test_a_nested_item_that_is_not_a_property_is_separate() -> None:
    page = item(f'<b itemprop="name">x</b><p itemscope {T}><b itemprop="name">y</b></p>')
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:name> "x"', "_:2 a <s:Thing>", '_:2 <s:name> "y"']


@pytest.mark.parametrize(
    ("kind", "predicate"),
    [
        ("http://schema.org/Person", "<s:p>"),
        ("http://schema.org/Person/Teacher", "<s:p>"),
        ("https://schema.org/Person", "<https://schema.org/p>"),
        ("http://microformats.org/profile/hcard", "<http://microformats.org/profile/hcard#p>"),
        ("http://xmlns.com/foaf/0.1/Person", "<http://xmlns.com/foaf/0.1/p>"),
        ("http://a.example/v#Person", "<http://a.example/v#p>"),
        ("http://a.example/v/Person?of=a/b", "<http://a.example/v/p>"),
        ("http://a.example", "<http://a.example#p>"),
        ("urn:x:Person", "<urn:x:Person#p>"),
        ("Person", f"<{ADDRESS}#p>"),
        ("", f"<{ADDRESS}#p>"),
    ],
)
def test_names_are_completed_by_the_vocabulary_of_the_type(kind: str, predicate: str) -> None:
    page = f'<div itemscope itemtype="{kind}"><b itemprop="p">x</b></div>'
    assert lines(page)[-1] == f'_:1 {predicate} "x"'
    assert len(lines(page)) == (2 if ":" in kind else 1)


def test_the_first_of_several_types_gives_the_vocabulary() -> None:
    page = '<div itemscope itemtype="Odd http://a.example/A http://b.example/B"><b itemprop="p">x</b></div>'
    assert lines(page) == ["_:1 a <http://a.example/A>", "_:1 a <http://b.example/B>", '_:1 <http://a.example/p> "x"']


def test_an_untyped_item_takes_the_vocabulary_of_the_enclosing_item() -> None:
    page = item('<p itemprop="maker" itemscope><i itemprop="x" itemscope><b itemprop="name">Ada</b></i></p>')
    assert lines(page)[1:] == ["_:1 <s:maker> _:2", "_:2 <s:x> _:3", '_:3 <s:name> "Ada"']


def test_an_untyped_item_has_names_in_every_vocabulary_that_refers_to_it() -> None:
    page = (
        '<div itemscope itemtype="http://a.example/A" itemref="x"></div>'
        '<div itemscope itemtype="http://b.example/B" itemref="x"></div>'
        '<p id="x" itemprop="maker" itemscope><b itemprop="name">Ada</b></p>'
    )
    assert lines(page) == [
        "_:1 a <http://a.example/A>",
        "_:1 <http://a.example/maker> _:2",
        '_:2 <http://a.example/name> "Ada"',
        "_:3 a <http://b.example/B>",
        "_:3 <http://b.example/maker> _:2",
        '_:2 <http://b.example/name> "Ada"',
    ]


def test_characters_not_allowed_in_iris_are_escaped_in_names() -> None:
    assert lines(item('<b itemprop="a<b #">x</b>'))[1:] == ['_:1 <s:a%3Cb> "x"', '_:1 <s:#> "x"']


@pytest.mark.parametrize(
    ("itemid", "subject"),
    [
        ("#me", f"<{ADDRESS}#me>"),
        ("urn:isbn:1", "<urn:isbn:1>"),
        (" /x ", "<https://shop.example/x>"),
        ("http://[", "_:1"),
    ],
)
def test_itemid_names_the_item(itemid: str, subject: str) -> None:
    assert lines(item("", f'itemid="{itemid}"')) == [f"{subject} a <s:Thing>"]


def test_an_additional_type_of_schema_org_is_a_type() -> None:
    page = item('<link itemprop="additionalType" href="http://a.example/T"><b itemprop="additionalType">Words</b>')
    assert lines(page) == [
        "_:1 a <s:Thing>",
        "_:1 <s:additionalType> <http://a.example/T>",
        "_:1 a <http://a.example/T>",
        '_:1 <s:additionalType> "Words"',
    ]


def test_a_reverse_property_belongs_to_its_value() -> None:
    page = item('<link itemprop-reverse="creator" href="/x"><b itemprop-reverse="creator">not an item</b>')
    assert lines(page) == ["_:1 a <s:Thing>", "<https://shop.example/x> <s:creator> _:1"]


def test_a_reverse_item_takes_the_vocabulary_of_the_enclosing_item() -> None:
    page = item('<p itemprop-reverse="knows" itemscope><b itemprop="name">Ada</b></p>')
    assert lines(page) == ["_:1 a <s:Thing>", "_:2 <s:knows> _:1", '_:2 <s:name> "Ada"']


def test_itemref_adds_properties_in_document_order() -> None:
    page = (
        '<i id="b" itemprop="before">1</i>'
        + item('<b itemprop="name">2</b>', 'itemref="c  b c nowhere"')
        + '<p id="c">x<b><i itemprop="after">3</i></b></p><i itemprop="unused">4</i>'
    )
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:before> "1"', '_:1 <s:name> "2"', '_:1 <s:after> "3"']


def test_itemref_takes_nothing_from_inside_another_item() -> None:
    inner = f'<p id="r" itemscope {T}><b itemprop="name">x</b></p>'
    assert lines(f'<div itemscope {T} itemref="r"></div>{inner}') == [
        "_:1 a <s:Thing>",
        "_:2 a <s:Thing>",
        '_:2 <s:name> "x"',
    ]


def test_itemref_reaches_into_another_item() -> None:
    page = (
        item('<p id="r"><b itemprop="name">x</b></p><b itemprop="color">blue</b>') + f"<p itemscope {T} itemref=r></p>"
    )
    assert lines(page) == [
        "_:1 a <s:Thing>",
        '_:1 <s:name> "x"',
        '_:1 <s:color> "blue"',
        "_:2 a <s:Thing>",
        '_:2 <s:name> "x"',
    ]


def test_overlapping_references_count_once() -> None:
    around = '<div id="o"><p id="n"><b itemprop="a">1</b></p><i id="i" itemprop="b">2</i></div>'
    page = f'<p itemscope {T} itemref="o i n"></p>{around}'
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:a> "1"', '_:1 <s:b> "2"']


def test_of_two_elements_with_one_id_the_first_counts() -> None:
    page = f'<p itemscope {T} itemref="x"></p><b id="x" itemprop="a">1</b><b id="x" itemprop="a">2</b>'
    assert lines(page)[1:] == ['_:1 <s:a> "1"']


def test_an_item_that_refers_to_an_enclosing_element_does_not_contain_itself() -> None:
    inner = '<i itemprop="x" itemscope itemref="r"><b itemprop="n">1</b></i>'
    page = f'<div itemscope {T} itemref="r"></div><p id="r">{inner}</p>'
    assert lines(page) == ["_:1 a <s:Thing>", "_:1 <s:x> _:2", '_:2 <s:n> "1"']
    assert read(page).flags == ("microdata-loop",)


def test_items_that_refer_to_each_other_are_cut() -> None:
    page = (
        f'<div itemscope {T} itemref="a"></div>'
        '<p id="a" itemprop="x" itemscope itemref="b"></p><p id="b" itemprop="y" itemscope itemref="a"></p>'
    )
    assert lines(page) == ["_:1 a <s:Thing>", "_:1 <s:x> _:2", "_:2 <s:y> _:3"]
    assert read(page).flags == ("microdata-loop",)


def test_a_property_outside_items_is_ignored() -> None:
    assert lines(f'<p itemprop="x" itemscope {T}><b itemprop="name">x</b></p>') == []


def test_a_fact_has_the_element_that_states_it() -> None:
    facts = read(item('<b itemprop="name">x</b><i itemprop="maker" itemscope></i>'))
    assert [place.tag for place in facts.places] == ["div", "b", "i"]
    assert facts.syntaxes == ("microdata",)


def test_a_fact_stated_in_two_syntaxes_is_one_fact() -> None:
    facts = read(
        f'<div itemscope {T} itemid="#a" vocab="http://schema.org/" resource="#a" typeof="Thing">'
        '<b itemprop="name" property="name">x</b></div>'
    )
    assert [
        state for triple, state in zip(facts.triples, facts.stated_in, strict=True) if "schema" in triple.object
    ] == [
        1,
        0b101,
    ]
    assert facts.syntaxes == ("rdfa", "microdata")


def test_svg_is_read_and_templates_are_not() -> None:
    page = item('<template><b itemprop="a">1</b></template><svg><text itemprop="b">2</text></svg>')
    assert lines(page)[1:] == ['_:1 <s:b> "2"']


def test_all_errors_give_notices_when_these_are_collected() -> None:
    assert notices(item('<img itemprop="x"><b itemprop-reverse="y">z</b>', 'itemref="gone"')) == [
        "warning itemref-unknown",
        "warning value-missing",
        "warning reverse-of-text",
    ]
    assert notices('<p itemscope itemtype="Thing"></p><p itemscope></p>') == [
        "warning type-not-absolute",
        "info item-untyped",
    ]
    assert notices(f'{item("")}<p itemprop="x" itemscope></p>') == ["warning property-of-nothing"]
    assert "error microdata-loop" in notices(
        item('<p itemprop="x" itemscope itemref="r"></p>', 'id="r" itemprop="q"') + item("", 'itemref="r"')
    )


def test_no_notices_are_collected_by_default() -> None:
    assert found(item('<img itemprop="x">', 'itemref="gone"')).notices == []


@pytest.mark.parametrize("at_most", [0, 1, 2, 5])
def test_at_most_the_given_number_of_facts_is_stated(at_most: int) -> None:
    facts = found(item('<b itemprop="a b">x</b>' * 9), at_most)
    assert len(facts.triples) == len(facts.places) == at_most
    assert facts.flags == ["too-many-facts"]


def test_many_items_that_share_many_properties_are_bounded() -> None:
    page = f'<p itemscope {T} itemref="r"></p>' * 2000 + '<div id="r">' + '<b itemprop="a">x</b>' * 2000 + "</div>"
    facts = found(page)
    assert len(facts.triples) == 50_000
    assert facts.flags == ["too-many-facts"]


def test_many_items_that_share_many_empty_properties_are_bounded() -> None:
    page = f'<p itemscope {T} itemref="r"></p>' * 2000 + '<div id="r">' + '<img itemprop="a">' * 2000 + "</div>"
    assert found(page).flags == ["too-many-facts"]


def test_nested_texts_are_repeated_up_to_a_depth() -> None:
    deep = '<b itemprop="a">' * (DEEPEST + 5) + "words"
    facts = found(item(deep))
    assert len(facts.triples) == 1 + DEEPEST
    assert facts.flags == ["microdata-too-deep"]


@pytest.mark.parametrize("length", [LONGEST_LITERAL - 10, LONGEST_LITERAL + 10])
def test_long_nested_texts_are_bounded(length: int) -> None:
    page = item('<div itemprop="a">' * 8 + "x" * length + "</div>" * 8) * 6
    assert "too-many-facts" in found(page).flags


def test_a_text_that_is_too_long_is_left_out() -> None:
    facts = found(item(f'<b itemprop="a">{"x" * LONGEST_LITERAL}</b><b itemprop="b">y</b>'))
    assert [triple.object for triple in facts.triples][1:] == ['"y"']
    assert facts.flags == ["literal-too-long"]


def test_deep_items_do_not_exhaust_the_stack() -> None:
    page = item("<p itemprop=x itemscope>".replace("p ", "div ") * 400 + '<b itemprop="name">x</b>')
    assert len(found(page).triples) == 402


@pytest.mark.parametrize(
    "page",
    [
        item('<b itemprop="&#0;\ud800">\x00\x01</b>'.encode("utf-8", "replace").decode()),
        item('<a itemprop="p" href="http://a/ <>&quot;{}|^`\\">x</a>'),
        item('<b itemprop="p" lang="x y z">x</b>'),
        item('<b itemprop="p">&quot;\\ \n\t</b>'),
        '<div itemscope itemtype="http://a/ b:c : :: a:b x://"><b itemprop="p : :: a: a:b">x</b></div>',
        item("", 'itemid="a b\\<>"'),
    ],
)
def test_facts_of_any_markup_can_be_parsed_again(page: str) -> None:
    assert parses_again(read(page))


def test_reading_a_page_twice_gives_the_same_facts() -> None:
    page = item('<p itemprop="a" itemscope></p>' * 3) * 3
    assert read(page).triples == read(page).triples
    assert read(page, 1).triples != read(page, 2).triples


def test_an_xml_page_is_read_the_same_way() -> None:
    page = (
        f'<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><body><p itemscope="" {T} itemref="r">'
        '<b itemprop="name">x</b></p><img id="r" itemprop="image" src="a.jpg"/></body></html>'
    )
    survey = parse_xml(page.encode())
    assert survey is not None
    facts = read_microdata(Source(survey, ADDRESS, ADDRESS, Labels(1), host=HostLanguage.XHTML5))
    assert [triple.object for triple in facts.triples] == [
        "<http://schema.org/Thing>",
        '"x"@en',
        "<https://shop.example/teapots/a.jpg>",
    ]


def test_properties_on_a_page_without_items_give_a_notice() -> None:
    survey = scan_html(LexborHTMLParser(b"<p itemprop=name>lost</p>")).survey()
    found = read_microdata(Source(survey, ADDRESS, ADDRESS, Labels(1), collects_notices=True))
    assert found.triples == []
    assert [notice.kind for notice in found.notices] == ["property-of-nothing"]
