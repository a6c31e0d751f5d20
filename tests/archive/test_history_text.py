"""Texts side by side."""

from gossamer.archive.versions import lines_of, text_changes
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


def test_only_what_changed_and_a_little_around_it_is_shown() -> None:
    lines, is_cut = text_changes(LONG, LONG.replace("number 20 says", "number 20 whispers"))
    assert [line.how for line in lines] == ["gap", "same", "same", "removed", "added", "same", "same", "gap"]
    assert not is_cut
    assert lines[3].pieces == [Piece("Sentence number 20 "), Piece("says", True), Piece(" little.")]
    assert lines[4].pieces[1] == Piece("whispers", True)


def test_equal_texts_have_no_lines_and_new_ones_are_wholly_new() -> None:
    assert text_changes(LONG, LONG) == ([], False)
    lines, _ = text_changes("", "Something new. And more.")
    assert [(line.how, line.pieces) for line in lines] == [
        ("added", [Piece("Something new.", True)]),
        ("added", [Piece("And more.", True)]),
    ]


def test_sentences_that_share_hardly_a_word_are_not_picked_apart() -> None:
    lines, _ = text_changes("The cat sat on a mat.", "Prices rise by fifty percent!")
    assert all(len(line.pieces) == 1 and line.pieces[0].is_changed for line in lines)


def test_a_very_long_text_is_cut_and_says_so() -> None:
    endless = "a. " * 10_000
    assert text_changes(endless, endless)[1]
