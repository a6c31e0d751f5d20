"""The marks of a page: the numbers that stand for its words, phrases, facts and values."""

import pytest
from xxhash import xxh32_intdigest

from gossamer.rules.learned.signs import MOST_FACTS, MOST_WORDS, SAMPLES, fact_marks, marks_of, names_of, words_of
from gossamer.values.page import Triple


def number(word: bytes | str) -> int:
    return xxh32_intdigest(word.encode() if isinstance(word, str) else word)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Harbour", "harbour", True), ("harbour,", "(harbour)", True), ("harbour", "harbours", False),
        ("“harbour”", "harbour", True), ("it's", "its", True), ("a-b", "ab", True), ("a b", "ab", False),
        ("h4rbour", "", True), ("2024", "", True), ("ÄPFEL", "äpfel", True), ("Ω", "ω", True), ("ЖУК", "жук", True),
        ("été", "ete", False), ("<b>", "b", True), ("a|b", "ab", True), ("#tag", "tag", True), ("a_b", "ab", True),
        ("a+b", "", True), ("€", "", True),
    ],
)  # fmt: skip
def test_words_ignore_case_and_punctuation_and_tokens_with_digits_are_left_out(
    one: str, other: str, is_same: bool
) -> None:
    assert (names_of(one) == names_of(other)) is is_same


def test_half_of_the_words_of_a_text_are_kept_chosen_by_hash() -> None:
    words = [f"{a}{b}{c}" for a in "bcdfghjk" for b in "aeiou" for c in "lmnp"]
    text = " ".join(words[:60])
    chosen = sorted(number(word) >> 2 for word in words[:60] if number(word) & 1)
    found = marks_of(text, tuple(range(4, 100, 4)))
    assert (found.words, found.vocabulary) == (60, tuple(chosen))
    assert found.shingles == tuple(range(1, SAMPLES + 1)) and (found.facts, found.values) == ((), ())
    many = marks_of(" ".join(words) * 1, ())
    assert len(many.vocabulary) <= MOST_WORDS and list(many.vocabulary) == sorted(many.vocabulary)


def test_only_both_ends_of_a_long_text_are_read_and_its_word_count_is_estimated() -> None:
    words = [f"{a}{b}{c}{d}" for a in "bcdfg" for b in "aeiou" for c in "lmnp" for d in "aeiou"]
    text = " ".join(words)
    assert len(text) == 5 * len(words) - 1 == 2499
    found = marks_of(text, ())
    assert abs(found.words - len(words)) < 20
    chosen = sorted(number(word) >> 2 for word in (*words[:100], *words[-40:]) if number(word) & 1)
    assert list(found.vocabulary) == chosen[:MOST_WORDS] and len(chosen) > MOST_WORDS
    assert marks_of(text[:700], ()).words == len(names_of(text[:700])), "a short text is read completely"


@pytest.mark.parametrize(("length", "is_spaceless"), [(60, False), (61, True)])
def test_a_text_whose_words_are_over_thirty_letters_long_is_split_into_pairs(length: int, is_spaceless: bool) -> None:
    text = "あ" * (length - 1) + " "
    assert (names_of(text) == {number("ああ".encode())}) is is_spaceless
    assert words_of("abc 12 de 3f") == {"ab", "bc", "cd", "de", "e3", "3f"} and words_of("a 1") == set()


def fact(value: str) -> Triple:
    return Triple("<s>", "<p>", value)


@pytest.mark.parametrize(
    ("value", "facts", "values"),
    [
        ('"blue"', 1, 1), ('"blue 7"', 1, 1), ('"7"', 0, 1), ('"7.50"', 0, 1), ('"http://a.test/"', 0, 0),
        ('"https"', 0, 0), ("<http://a.test/>", 0, 0), ("_:b", 0, 0), ('"é7"', 1, 1), ('"2024"^^<http://x/int>', 1, 1),
    ],
)  # fmt: skip
def test_values_count_as_written_and_facts_without_their_numbers(value: str, facts: int, values: int) -> None:
    found = fact_marks([fact(value)])
    assert tuple(map(len, found)) == (facts, values)
    assert fact_marks([fact(value), fact(value)]) == found


def test_facts_that_differ_by_a_number_are_the_same_but_their_values_differ() -> None:
    one, other = fact_marks([fact('"lamp 7"')]), fact_marks([fact('"lamp 8"')])
    assert one[0] == other[0] and one[1] != other[1]
    many = fact_marks([fact(f'"word{"x" * n}"') for n in range(50)])
    assert [len(each) for each in many] == [MOST_FACTS, MOST_FACTS] and list(many[0]) == sorted(many[0])
    assert fact_marks([fact(f'"v{n}"') for n in range(100)] + [fact('"late"')]) == fact_marks(
        [fact(f'"v{n}"') for n in range(100)]
    )
