import pytest
from tests.extract.pages import ADDRESS, lines, read

from gossamer.extract.markup import MOST_MARKUP
from gossamer.extract.rdfa.scope import MOST_NAMES, MOST_PREFIXES

V = 'vocab="http://schema.org/"'


def test_properties_of_a_typed_entity_belong_to_it_in_document_order() -> None:
    page = f'<div {V} typeof="Product"><b property="name">Teapot</b><i property="color">blue</i></div>'
    assert lines(page) == ["_:1 a <s:Product>", '_:1 <s:name> "Teapot"', '_:1 <s:color> "blue"']


def test_elements_in_between_without_attributes_change_nothing() -> None:
    page = f'<div {V} typeof="Product"><table><tr><td class="x"><p><b property="name">Teapot</b></table></div>'
    assert lines(page) == ["_:1 a <s:Product>", '_:1 <s:name> "Teapot"']


def test_the_vocabulary_a_page_uses_is_stated() -> None:
    triples = read(f"<div {V}></div>").triples
    assert [t.predicate for t in triples] == ["<http://www.w3.org/ns/rdfa#usesVocabulary>"]
    assert triples[0].subject == f"<{ADDRESS}>"


def test_an_empty_vocab_ends_the_vocabulary() -> None:
    assert lines(f'<div {V}><div vocab=""><b property="name">x</b></div></div>') == []


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ('<a property="url" href="/x y">x</a>', "<https://shop.example/x%20y>"),
        ('<img property="url" src="a.jpg">', "<https://shop.example/teapots/a.jpg>"),
        ('<b property="url" resource="#me" href="/no">x</b>', f"<{ADDRESS}#me>"),
        ('<b property="url" content="given">shown</b>', '"given"'),
        ('<b property="url">two <i>parts</i></b>', '"two parts"'),
        ('<b property="url" datatype="xsd:integer">7</b>', '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ('<b property="url" datatype="">7</b>', '"7"'),
        ('<b property="url" lang="DE">sieben</b>', '"sieben"@de'),
        ('<b property="url" lang="not a tag">x</b>', '"x"'),
        ('<b property="url" resource="[unknown:here]">x</b>', '"x"'),
        ('<b property="url"></b>', '""'),
    ],
)
def test_a_property_takes_its_value_from(element: str, value: str) -> None:
    assert lines(f"<div {V}>{element}</div>") == [f"<{ADDRESS}> <s:url> {value}"]


@pytest.mark.parametrize(
    ("moment", "kind"),
    [
        ("2026-11-15", "date"),
        ("2026-11-15T08:30:00Z", "dateTime"),
        ("08:30:00", "time"),
        ("2026-11", "gYearMonth"),
        ("2026", "gYear"),
        ("PT2H", "duration"),
        ("P1Y2M", "duration"),
    ],
)
def test_a_date_or_time_is_typed_by_its_form(moment: str, kind: str) -> None:
    typed = f'"{moment}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
    assert lines(f'<p {V}><time property="url" datetime="{moment}">then</time>') == [f"<{ADDRESS}> <s:url> {typed}"]
    assert lines(f'<p {V}><time property="url">{moment}</time>') == [f"<{ADDRESS}> <s:url> {typed}"]


def test_a_date_of_unknown_form_is_a_plain_literal() -> None:
    assert lines(f'<p {V}><time property="url">last week</time>') == [f'<{ADDRESS}> <s:url> "last week"']
    assert lines(f'<p {V}><time property="url" datetime="P">x</time>') == [f'<{ADDRESS}> <s:url> "P"']


def test_languages_of_page_and_element_apply_and_an_empty_one_clears() -> None:
    page = f'<html lang="en"><p {V}><b property="a">x</b><b property="b" lang="fr">y</b><b property="c" lang="">z</b>'
    assert [line.split(" ", 2)[2] for line in lines(page)] == ['"x"@en', '"y"@fr', '"z"']


def test_a_nested_entity_is_the_value() -> None:
    page = f'<p {V} typeof="Product"><span property="offers" typeof="Offer"><b property="price">9</b></span></p>'
    assert lines(page) == ["_:1 a <s:Product>", "_:2 a <s:Offer>", "_:1 <s:offers> _:2", '_:2 <s:price> "9"']


def test_resource_names_the_entity_and_about_the_subject() -> None:
    page = f'<p {V} resource="#a" typeof="Product"><b property="name">A</b></p><p {V} about="#b" property="name">B</p>'
    assert lines(page) == [
        f"<{ADDRESS}#a> a <s:Product>",
        f'<{ADDRESS}#a> <s:name> "A"',
        f'<{ADDRESS}#b> <s:name> "B"',
    ]


def test_a_link_around_a_property_is_its_subject() -> None:
    assert lines(f'<p {V}><a href="/x"><b property="name">X</b></a>') == ['<https://shop.example/x> <s:name> "X"']


def test_a_link_with_content_is_the_subject_of_that_content() -> None:
    page = f'<p {V}><a property="name" href="/x" content="given">x</a>'
    assert lines(page) == ['<https://shop.example/x> <s:name> "given"']


def test_several_properties_and_types_in_one_attribute() -> None:
    assert lines(f'<p {V} about="#a" typeof="A B"><b property="x y">1</b>') == [
        f"<{ADDRESS}#a> a <s:A>",
        f"<{ADDRESS}#a> a <s:B>",
        f'<{ADDRESS}#a> <s:x> "1"',
        f'<{ADDRESS}#a> <s:y> "1"',
    ]


def test_prefixes_are_known_declared_or_unknown() -> None:
    page = '<p prefix="ex: http://ex.example/ns# bad" property="og:title ex:a EX:b nope:c">x</p>'
    assert [line.split(" ")[1] for line in lines(page)] == [
        "<http://ogp.me/ns#title>",
        "<http://ex.example/ns#a>",
        "<http://ex.example/ns#b>",
        "<nope:c>",
    ]


def test_xmlns_declares_a_prefix_too_and_prefix_wins() -> None:
    page = '<p xmlns:a="http://one.example/" prefix="a: http://two.example/" property="a:x">x</p>'
    assert lines(page) == [f'<{ADDRESS}> <http://two.example/x> "x"']
    assert lines('<p xmlns:a="http://one.example/"><b property="a:x">x</b></p>') == [
        f'<{ADDRESS}> <http://one.example/x> "x"'
    ]


def test_F_G5_an_underscore_is_not_a_prefix_and_redefined_prefixes_apply() -> None:
    page = '<p prefix="_: http://ex.example/ xsd: http://x.example/" about="_:a" property="xsd:b">x</p>'
    assert lines(page) == ['_:1 <http://x.example/b> "x"']


def test_F_G5_prefixes_that_refer_to_each_other_do_not_loop() -> None:
    assert lines('<p prefix="a: b: b: a:" property="a:x">x</p>') == [f'<{ADDRESS}> <b:x> "x"']


def test_rel_and_rev_state_facts_except_for_html_link_types() -> None:
    page = '<link rel="stylesheet" href="/s.css"><a rel="license" href="/cc">c</a><a rev="foaf:made" href="/me">m</a>'
    assert lines(page) == [
        f"<{ADDRESS}> <http://www.w3.org/1999/xhtml/vocab#license> <https://shop.example/cc>",
        f"<https://shop.example/me> <http://xmlns.com/foaf/0.1/made> <{ADDRESS}>",
    ]


def test_an_incomplete_rel_is_completed_by_nested_elements() -> None:
    page = '<div rel="foaf:knows"><p><a href="/a">A</a></p><span typeof="foaf:Person">B</span></div>'
    assert lines(page) == [
        f"<{ADDRESS}> <http://xmlns.com/foaf/0.1/knows> <https://shop.example/a>",
        "_:2 a <http://xmlns.com/foaf/0.1/Person>",
        f"<{ADDRESS}> <http://xmlns.com/foaf/0.1/knows> _:2",
    ]


def test_words_in_rel_are_ignored_next_to_a_property() -> None:
    assert lines(f'<p {V}><a rel="nofollow" property="url" href="/x">x</a>') == [
        f"<{ADDRESS}> <s:url> <https://shop.example/x>"
    ]


def test_lists_keep_their_order_and_end_with_their_subject() -> None:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    page = f'<p {V} about="#a"><b property="x" inlist>1</b><i property="x" inlist>2</i></p>'
    assert lines(page) == [
        f"<{ADDRESS}#a> <s:x> _:1",
        f'_:1 <{rdf}first> "1"',
        f"_:1 <{rdf}rest> _:2",
        f'_:2 <{rdf}first> "2"',
        f"_:2 <{rdf}rest> <{rdf}nil>",
    ]


def test_a_pattern_is_copied_and_removed() -> None:
    page = (
        f'<div {V}><p resource="#p" typeof="rdfa:Pattern"><b property="name">N</b></p>'
        '<p typeof="Thing"><link property="rdfa:copy" href="#p"></p></div>'
    )
    assert lines(page) == ["_:1 a <s:Thing>", '_:1 <s:name> "N"']


def test_markup_literals_are_written_out() -> None:
    kinds = {"rdf:XMLLiteral": "a <br/> &amp; <i>b</i>", "rdf:HTML": "a <br> &amp; <i>b</i>"}
    for datatype, written in kinds.items():
        found = read(f'<p {V}><b property="x" datatype="{datatype}">a <br> &amp; <i>b</i></b>')
        assert found.triples[-1].object.startswith(f'"{written}"^^<')


def test_the_same_fact_twice_is_one_fact() -> None:
    assert lines(f'<p {V}><b property="x">1</b><i property="x">1</i>') == [f'<{ADDRESS}> <s:x> "1"']


def test_attributes_are_read_in_any_case_and_values_may_be_missing() -> None:
    assert lines('<p VOCAB="http://schema.org/" TypeOf><b PROPERTY="x">1</b><i property>2</i></p>') == ['_:1 <s:x> "1"']


def test_a_page_without_rdfa_yields_nothing() -> None:
    found = read('<html lang="en"><link rel="icon" href="/f"><a rel="nofollow" href="/x">x</a>')
    assert (found.triples, found.syntaxes, found.flags) == ([], (), ())


def test_F_G3_more_facts_than_are_kept_are_flagged() -> None:
    found = read(f"<div {V}>" + "".join(f'<b property="x">{n}</b>' for n in range(50_010)) + "</div>")
    assert len(found.triples) == 50_000
    assert found.flags == ("too-many-facts",)


def test_F_G3_a_very_long_list_is_left_out_and_flagged() -> None:
    found = read(f"<div {V}>" + '<b property="a b c d e f g h i j" inlist>1</b>' * 6_000 + "</div>")
    assert [fact.predicate for fact in found.triples] == ["<http://www.w3.org/ns/rdfa#usesVocabulary>"]
    assert "too-many-facts" in found.flags


def test_F_G3_a_huge_literal_is_left_out_and_the_rest_kept() -> None:
    found = read(f'<div {V}><b property="x">{"w" * 10_000_000}</b><b property="y">1</b></div>')
    assert [t.predicate for t in found.triples][1:] == ["<http://schema.org/y>"]
    assert found.flags == ("literal-too-long",)


def test_F_G3_nested_properties_do_not_repeat_a_long_text_endlessly() -> None:
    deep = '<b property="x">' * 400 + "w" * 900_000 + "</b>" * 400
    found = read(f"<div {V}>{deep}</div>")
    assert sum(len(t.object) for t in found.triples) < 40 << 20
    assert "too-many-facts" in found.flags


def test_deep_trees_are_walked_without_recursion() -> None:
    assert len(lines(f"<div {V}>" + "<div typeof='A'>" * 3000)) == 3000


def test_F_G6_the_same_blank_node_on_two_captures_is_never_the_same() -> None:
    page = f'<p {V} about="_:a" property="x">1</p>'
    first, second = read(page, 1).triples[-1], read(page, -1).triples[-1]
    assert first.subject == "_:c0000000000000001n1"
    assert second.subject == "_:cffffffffffffffffn1"


def test_a_second_reading_of_a_capture_is_equal() -> None:
    page = f'<p {V} typeof="A"><b property="x" typeof="B"><i property="y" resource="_:q">1</i></b></p>'
    assert read(page, 9) == read(page, 9)


def pattern(name: int, copies: list[int]) -> str:
    links = "".join(f'<link property="rdfa:copy" href="#p{other}">' for other in copies)
    return f'<p resource="#p{name}" typeof="rdfa:Pattern">{links}<b property="schema:n{name}">x</b></p>'


USES = '<p about="#s"><link property="rdfa:copy" href="#p0"></p>'


def test_patterns_that_copy_one_another_are_all_copied() -> None:
    page = pattern(0, [1]) + pattern(1, [2]) + pattern(2, [0, 1]) + USES
    assert lines(page) == [f'<{ADDRESS}#s> <s:n{name}> "x"' for name in range(3)]


def test_F_G3_patterns_that_copy_one_another_are_bounded() -> None:
    count = 60
    page = "".join(pattern(name, list(range(count))) for name in range(count))
    uses = "".join(USES.replace("#s", f"#s{number}") for number in range(count))
    found = read(page + uses)
    assert "too-many-copies" in found.flags
    assert not any("rdfa#copy" in fact.predicate for fact in found.triples)


def test_more_names_and_prefixes_than_are_read_are_flagged() -> None:
    names = "schema:a " * MOST_NAMES
    assert read(f'<p property="{names}">x</p>').flags == ()
    assert read(f'<p property="{names} schema:b">x</p>').flags == ("too-many-names",)
    declared = " ".join(f"p{number}: http://p/{number}#" for number in range(MOST_PREFIXES + 1))
    assert read(f'<p prefix="{declared}" property="p1:a">x</p>').flags == ("too-many-prefixes",)


def test_F_G3_markup_in_markup_is_bounded() -> None:
    found = read('<div property="schema:a" datatype="rdf:HTML">' * 300 + "<i>x</i>" * 9_000)
    assert "too-many-facts" in found.flags
    assert sum(len(fact.object) for fact in found.triples) < MOST_MARKUP
