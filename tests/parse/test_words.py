"""Folding, language, fingerprints, and text that is not HTML."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.content import (
    LONGEST_TITLE,
    PERMUTATIONS,
    exact,
    first_line,
    near,
    xml_text,
    xml_title,
)
from gossamer.parse.html.tree import folded
from gossamer.parse.language import language_of, primary


def resemblance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The estimated share of shingles that two texts have in common (0 to 1)."""
    return sum(map(int.__eq__, one, other)) / len(one) if one and len(one) == len(other) else 0.0


ENGLISH = "The library opens at nine every morning, and the reading room is usually full of students before noon. " * 4
GERMAN = (
    "Die Bibliothek öffnet jeden Morgen um neun, und der Lesesaal ist meist schon vor Mittag voller Studenten. " * 4
)


@given(st.text(alphabet=" \t\n\r\f\v\x1c\x85\xa0\u2003\u3000abü", max_size=40), st.integers(0, 40))
def test_folding_long_texts_gives_the_same_as_splitting(text, times):
    text = (text + "x") * times
    assert folded(text) == " ".join(text.split())


def test_a_declared_language_that_fits_is_kept():
    assert language_of("en-GB", ENGLISH) == "en"
    assert language_of("de_AT", GERMAN) == "de"


def test_a_clearly_wrong_language_is_corrected():
    assert language_of("en", GERMAN) == "de"


def test_the_declared_language_of_a_short_text_is_kept():
    assert language_of("fi", "OK") == "fi"
    assert language_of(None, "OK") == ""


def test_an_undeclared_language_is_recognised():
    assert language_of(None, GERMAN) == language_of("", GERMAN) == language_of("x-nonsense-tag", GERMAN) == "de"
    assert language_of(None, ENGLISH.upper()) == "en"


def test_numbers_have_no_language():
    assert language_of(None, "0 1 2 3 4 5 6 7 8 9 " * 20) == ""


def test_only_the_primary_tag_is_used():
    assert primary("ZH-Hant-TW") == "zh"
    assert primary("english") == primary("") == primary(None) == ""


def test_M_C12_copies_have_the_same_exact_fingerprint():
    assert exact("a b") == hashlib.sha256(b"a b").digest() != exact("a c")


def test_M_C12_near_copies_resemble_each_other_and_others_do_not():
    words = [f"word{n}" for n in range(1000)]
    changed = [*words[:50], "new", "words", "here", *words[50:]]
    other = [f"term{n}" for n in range(1000)]
    one, two, three = (near(" ".join(text)) for text in (words, changed, other))
    assert len(one) == PERMUTATIONS
    assert resemblance(one, one) == 1.0
    assert resemblance(one, two) > 0.8
    assert resemblance(one, three) < 0.1
    assert resemblance(one, ()) == resemblance((), ()) == 0.0


def test_a_long_text_is_compared_at_both_ends():
    start, end = [f"s{n}" for n in range(300)], [f"e{n}" for n in range(300)]
    assert resemblance(near(" ".join(start + end)), near(" ".join(start + start))) < 0.8


def test_short_texts_and_texts_without_spaces_have_fingerprints():
    assert near("") == near("   ") == ()
    assert len(near("one")) == len(near("one two")) == PERMUTATIONS
    text = "今日は天気がいいので公園を散歩しました" * 20
    assert resemblance(near(text), near(text.replace("公園", "海辺", 1))) > 0.7


def test_the_first_line_of_a_plain_text_is_its_title():
    assert first_line("\n\n  A  title \nbody") == "A title"
    assert len(first_line("x" * 5000)) == LONGEST_TITLE
    assert first_line("") == ""


def test_the_text_of_xml_is_its_character_data():
    feed = "<?xml version='1.0'?><!-- c --><rss><title>A &amp; B</title><d><![CDATA[<b>x</b>]]></d><e>&#233;</e></rss>"
    assert xml_text(feed) == "A & B <b>x</b> é"
    assert xml_title(feed) == "A & B"
    assert xml_title("<urlset/>") == ""


def test_F_M5_entities_of_a_document_type_are_not_expanded():
    laughs = (
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><x>&b;&f; end</x>'
    )
    assert xml_text(laughs) == "&b;&f; end"
