"""Comparing two texts."""

import pytest

from gossamer.archive.versions import MOST_LINES, lines_of, text_changes
from gossamer.values.messages import Piece

LONG = " ".join([f"Sentence number {number} says little." for number in range(40)])


def test_sentences_are_the_lines_of_a_text() -> None:
    assert lines_of("One is. Two was! Three? 四。五。\nlast") == [
        "One is.",
        "Two was!",
        "Three?",
        "四。",
        "五。",
        "last",
    ]
    assert [len(line.split()) for line in lines_of("word " * 130)] == [60, 60, 10]


def test_only_changed_lines_and_a_few_around_them_are_shown() -> None:
    lines, is_cut = text_changes(LONG, LONG.replace("number 20 says", "number 20 whispers"))
    assert [line.how for line in lines] == ["gap", "same", "same", "removed", "added", "same", "same", "gap"]
    assert not is_cut
    assert lines[3].pieces == [Piece("Sentence number 20 "), Piece("says", True), Piece(" little.")]
    assert lines[4].pieces[1] == Piece("whispers", True)


def test_equal_texts_have_no_changed_lines_and_a_new_text_only_added_ones() -> None:
    assert text_changes(LONG, LONG) == ([], False)
    lines, _ = text_changes("", "Something new. And more.")
    assert [(line.how, line.pieces) for line in lines] == [
        ("added", [Piece("Something new.", True)]),
        ("added", [Piece("And more.", True)]),
    ]


def test_sentences_with_hardly_a_word_in_common_are_not_compared_by_word() -> None:
    lines, _ = text_changes("The cat sat on a mat.", "Prices rise by fifty percent!")
    assert all(len(line.pieces) == 1 and line.pieces[0].is_changed for line in lines)


def test_a_very_long_text_is_cut_and_marked_as_cut() -> None:
    endless = "a. " * 10_000
    assert text_changes(endless, endless)[1]


def shown(before: str, after: str) -> list[str]:
    """Each line as its sign and its text, with what changed in brackets."""
    sign = {"same": "  ", "added": "+ ", "removed": "- ", "gap": "~ "}
    lines, _ = text_changes(before, after)
    return [
        sign[line.how] + "".join(f"[{one.text}]" if one.is_changed else one.text for one in line.pieces)
        for line in lines
    ]


def numbered(*numbers: int) -> str:
    return "\n".join(f"Line {number}" for number in numbers)


def test_gaps_stand_for_unchanged_lines_before_between_and_after_changes() -> None:
    old = [*range(20)]
    new = [*old[:3], 33, *old[4:10], 100, *old[11:]]
    assert shown(numbered(*old), numbered(*new)) == [
        "~ ", "  Line 1", "  Line 2", "- Line [3]", "+ Line [33]", "  Line 4", "  Line 5",
        "~ ", "  Line 8", "  Line 9", "- Line [10]", "+ Line [100]", "  Line 11", "  Line 12", "~ ",
    ]  # fmt: skip
    assert shown(numbered(1, 2, 3), numbered(1, 2, 4)) == ["  Line 1", "  Line 2", "- Line [3]", "+ Line [4]"]
    assert shown(numbered(1, 2, 3), numbered(9, 2, 3)) == ["- Line [1]", "+ Line [9]", "  Line 2", "  Line 3"]
    assert shown(numbered(1, 2, 3, 4, 5), numbered(9, 2, 3, 4, 5))[-2:] == ["  Line 3", "~ "]
    assert shown(numbered(1, 2, 3, 4, 5), numbered(9, 2, 3, 8, 5)).count("~ ") == 0


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a b c", "a x c", ["- a [b] c", "+ a [x] c"]),
        ("a b c", "a c", ["- a [b ]c", "+ a c"]),
        ("a c", "a b c", ["- a c", "+ a [b ]c"]),
        ("a, b", "a; b", ["- a[,] b", "+ a[;] b"]),
        ("a\nb", "a", ["  a", "- [b]"]),
        ("a", "a\nb", ["  a", "+ [b]"]),
        ("", "a", ["+ [a]"]),
        ("a", "", ["- [a]"]),
        ("one two", "three four", ["- [one two]", "+ [three four]"]),
        ("x one", "y one\nz", ["- [x] one", "+ [y] one", "+ [z]"]),
        ("x one\nz", "y one", ["- [x] one", "- [z]", "+ [y] one"]),
    ],
)
def test_changes_within_a_line_are_marked_word_by_word(before: str, after: str, lines: list[str]) -> None:
    assert shown(before, after) == lines


@pytest.mark.parametrize(
    ("old", "new", "is_by_word"),
    [
        ("a b", "a x", True),
        ("a b", "a x y", False),
        ("a", "a x y", True),
        ("a b c", "a b x y", True),
        ("a b c", "a b x y z", False),
    ],
)
def test_lines_that_share_a_sixth_of_words_and_gaps_are_compared_by_word(old: str, new: str, is_by_word: bool) -> None:
    assert (shown(old, new) != [f"- [{old}]", f"+ [{new}]"]) is is_by_word


def test_sentences_end_at_punctuation_of_any_script_and_long_ones_are_cut_every_sixty_words() -> None:
    assert lines_of("One. Two! Three? Four… Five\nSix。七！八？九") == [
        "One.", "Two!", "Three?", "Four…", "Five", "Six。", "七！", "八？", "九",
    ]  # fmt: skip
    assert lines_of("3.5 and e.g.this  is\tone \n\n") == ["3.5 and e.g.this is one"]
    words = [str(number) for number in range(125)]
    assert [len(line.split()) for line in lines_of(" ".join(words))] == [60, 60, 5]
    assert [len(line.split()) for line in lines_of(" ".join(words[:60]))] == [60]
    assert " ".join(lines_of(" ".join(words))) == " ".join(words)


def test_texts_of_more_than_four_thousand_lines_are_cut_and_marked_as_cut() -> None:
    full, more = numbered(*range(MOST_LINES)), numbered(*range(MOST_LINES + 1))
    assert text_changes(full, full) == ([], False) and text_changes(more, more) == ([], True)
    assert text_changes(full, more) == ([], True) == text_changes(more, full)
    assert text_changes(full, full.replace("Line 1\n", "Line x\n"))[1] is False
