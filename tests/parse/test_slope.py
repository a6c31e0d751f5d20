"""The classic slope method and its windowed form."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.slope import (
    TokenSpan,
    classic_block,
    slope_curve,
    spans_of,
    tags_and_words,
    windowed_blocks,
)


def test_M_C13_tags_are_ones_and_words_and_formatting_tags_are_zeros():
    found = tags_and_words("<body><p>two <b>words</b></p><!-- <p>none --><a href='x y'>Q&amp;A</a></body>")
    assert list(found.bits) == [1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 1]
    assert found.words == {2: "two", 4: "words", 8: "Q&A"}
    assert found.text(TokenSpan(2, 6)) == "two words"


def test_M_C13_the_curve_counts_the_tags_up_to_each_token():
    assert slope_curve(bytes([1, 0, 0, 1, 1])) == [1, 1, 1, 2, 3]
    assert slope_curve(b"") == []


@given(st.lists(st.integers(0, 1), max_size=14).map(bytes))
def test_M_C13_the_classic_block_has_most_tags_outside_plus_words_inside(bits):
    def objective(start, end):
        return sum(bits[:start]) + sum(bits[end:]) + bits[start:end].count(0)

    best = max(objective(i, j) for i in range(len(bits) + 1) for j in range(i, len(bits) + 1))
    assert objective(*classic_block(bits)) == best


def test_the_classic_block_of_a_page_without_words_is_empty():
    assert classic_block(b"\1\1") == classic_block(b"") == TokenSpan(0, 0)


def test_M_C13_windows_find_two_texts_between_menus():
    menu, text = bytes([1, 0, 1]) * 60, bytes(120)
    spans = windowed_blocks(menu + text + menu + text + menu)
    assert len(spans) == 2
    assert all(abs(span.start - wanted) < 30 for span, wanted in zip(spans, (180, 480), strict=True))
    assert all(80 < span.end - span.start < 180 for span in spans)
    assert windowed_blocks(bytes(9)) == [TokenSpan(0, 9)] and windowed_blocks(b"") == []


def test_texts_are_placed_among_the_tokens_in_order():
    found = tags_and_words("<p>menu</p><p>first <i>te</i>xt</p><p>second</p><p>menu</p>")
    spans = spans_of(found, [("menu", False), ("first text", True), ("second", True), ("menu", True)])
    assert [found.text(span) for span in spans] == ["first te xt second menu"]
    assert spans_of(found, [("absent", True), ("menu", True), ("first text", False)]) == [TokenSpan(1, 2)]
    assert spans_of(tags_and_words(""), [("x", True)]) == []
