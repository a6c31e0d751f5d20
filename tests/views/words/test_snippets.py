"""The part of a text that a result shows."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.views.words.schema import LARGE, MOST_SNAPSHOTS, Lasting
from gossamer.views.words.snippets import LONGEST, Segment, fragment

WORDS = ["fish", "tropical", "harbour", "a"]


def test_the_fragment_with_most_of_the_words_is_shown_and_rare_words_count_more():
    filling = "nothing to see here " * 30
    text = f"fish fish fish {filling} a tropical fish {filling} a harbour"
    shown = fragment(text, {"tropical": 3.0, "fish": 1.0})
    assert "a tropical fish nothing" in "".join(part.text for part in shown)
    assert [part.text for part in shown if part.is_match] == ["tropical", "fish"]


def test_only_whole_words_are_highlighted_in_upper_and_lower_case():
    assert fragment("Fishing for FISH, fish_pie", {"fish": 1.0}) == (
        Segment("Fishing for ", False),
        Segment("FISH", True),
        Segment(", ", False),
        Segment("fish", True),
        Segment("_pie", False),
    )


def test_a_text_without_the_words_has_no_fragment():
    assert fragment("cold water", {"fish": 1.0}) == ()
    assert fragment("", {"fish": 1.0}) == ()


@given(
    st.lists(st.sampled_from([*WORDS, "water", "x" * 90, "Fish!", "  "]), max_size=120), st.sets(st.sampled_from(WORDS))
)
def test_a_fragment_is_part_of_the_text_within_the_limit_and_shows_a_word(pieces, words):
    text = " ".join(pieces)
    shown = fragment(text, dict.fromkeys(words, 1.0))
    joined = "".join(part.text for part in shown)
    assert joined in text and len(joined) <= LONGEST
    assert all(part.text.lower() in words for part in shown if part.is_match)
    has_any = any(piece.lower().strip("!") in words for piece in pieces)
    assert any(part.is_match for part in shown) == has_any


def test_only_a_large_index_that_hardly_changed_passes_data_on_to_the_next_snapshot():
    assert not Lasting(pages=LARGE - 1).serves(LARGE - 1)
    assert Lasting(pages=LARGE).serves(LARGE + LARGE // 50)
    assert not Lasting(pages=LARGE).serves(LARGE + LARGE // 10)
    assert not Lasting(pages=LARGE).serves(LARGE - 1)
    assert not Lasting(pages=LARGE, snapshots=MOST_SNAPSHOTS).serves(LARGE)
