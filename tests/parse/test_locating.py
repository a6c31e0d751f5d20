"""Positions of elements in the text, and their paths."""

import pytest

from gossamer.parse.html.positions import Paths, positions_of
from gossamer.parse.html.tree import parse_html, scan_html
from gossamer.parse.xml import parse_xml
from gossamer.values.tree import Survey


def survey_of(text: str, is_xml: bool = False) -> Survey:
    survey = parse_xml(text.encode()) if is_xml else scan_html(parse_html(text.encode()).tree).survey()
    assert survey is not None
    return survey


def located(text: str, is_xml: bool = False) -> dict[str, str]:
    """Path -> line:column, for all elements whose position is known."""
    survey = survey_of(text, is_xml)
    every, paths = survey.every(), Paths()
    positions = positions_of([element for element, _, _ in every], every, text)
    return {
        paths.of(element): f"{position.line}:{position.column}"
        for element, _, _ in every
        if (position := positions.get(element.mem_id)) is not None
    }


def test_elements_are_found_where_they_are_written() -> None:
    text = '<html>\n<body>\n  <p>a<p class="x">b\n\n</p><i>c</i>é<i>d</i>'
    assert located(text) == {
        "/html": "1:1",
        "/html/body": "2:1",
        "/html/body/p[1]": "3:3",
        "/html/body/p[2]": "3:7",
        "/html/body/i[1]": "5:5",
        "/html/body/i[2]": "5:14",
    }


def test_elements_added_by_the_parser_have_no_position() -> None:
    assert set(located("<table><tr><td>x")) == {
        "/html/body/table",
        "/html/body/table/tbody/tr",
        "/html/body/table/tbody/tr/td",
    }


def test_ambiguous_elements_have_no_position() -> None:
    assert "/html/body/b" not in located("<body><p><b>x</p>y")  # the parser opens `b` again after the paragraph
    assert "/html/body" not in located("<body><body>")


@pytest.mark.parametrize(
    "before",
    [
        "<!-- <p id=q> -->",
        "<script>'<p id=q>'</script>",
        "<style><p id=q></style>",
        "<title><p id=q></title>",
        "<textarea><p id=q></textarea>",
        "<a title='<p id=q>'>",
        '<a title="it\'s > <p id=q>">',
        "<a title=it's>",
        "< p id=q>",
        "</p id=q>",
    ],
)
def test_text_that_only_looks_like_a_tag_is_ignored(before: str) -> None:
    text = f"<body>{before}<p id=q>"
    assert f"1:{len(text) - 7}" in located(text).values()


@pytest.mark.parametrize(
    "tag",
    ["<p title='a&amp;b&#10;c'>", "<P TITLE=x HIDDEN>", "<p title = x title=y>", "<p\n title\n=\nx>", "<p a=1 / b>"],
)
def test_attributes_are_compared_by_value(tag: str) -> None:
    assert located(f"<body>\n{tag}")["/html/body/p"] == "2:1"


def test_elements_of_xml_are_found_too() -> None:
    text = (
        '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" xmlns:d="urn:d">\n'
        ' <d:a x="1"/><g xml:lang="en"/></svg>'
    )
    assert located(text, is_xml=True) == {"/svg": "2:1", "/svg/a": "3:2", "/svg/g": "3:14"}


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<a b=", '<a b="', "<!--", "<script>", "<![CDATA[", "<a b='c' ", "</", "<p>"]
)
def test_any_text_is_scanned_in_one_pass(piece: str) -> None:
    """Thousands of unclosed openings: a scan that restarted at each would not end within the time limit."""
    text = "<p id=q>" + piece * 50_000
    survey = survey_of("<p id=q>")
    every = survey.every()
    positions = positions_of([element for element, _, _ in every], every, text)
    assert set(positions) <= {element.mem_id for element, _, _ in every}, "it ended, with these elements only"


def test_paths_have_numbers_only_where_needed() -> None:
    survey = survey_of("<div><p>a</p>text<!-- --><p>b<i>c</i></p></div><div></div>")
    paths = Paths()
    assert [paths.of(element) for element, _, _ in survey.every()] == [
        "/html",
        "/html/head",
        "/html/body",
        "/html/body/div[1]",
        "/html/body/div[1]/p[1]",
        "/html/body/div[1]/p[2]",
        "/html/body/div[1]/p[2]/i",
        "/html/body/div[2]",
    ]
