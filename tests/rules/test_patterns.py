"""Regular expressions in linear time, held against Python's own on patterns both understand."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.rules.user.regex import Misread, pattern_of

ATOMS = st.sampled_from(
    ["a", "b", "/", "1", r"\d", r"\w", r"\S", ".", "[ab]", "[^a]", "[a-c/]", r"[\d-]", r"\.", "^", "$"]
)
TIMES = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds("(?:x{}){}".format, inner, TIMES),
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(PATTERNS, st.lists(st.text("ab1/x.é", max_size=8), max_size=6))
def test_it_finds_what_the_standard_library_finds(pattern: str, texts: list[str]) -> None:
    ours, theirs = pattern_of(pattern), re.compile(pattern, re.ASCII)
    for text in texts:
        assert ours.found_in(text) == (theirs.search(text) is not None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        ("^/news/", "/news/1", True),
        ("^/news/", "/old/news/1", False),
        (r"/\d{4}/\d\d?/$", "/2024/5/", True),
        (r"\.(jpe?g|png)$", "/a.jpeg", True),
        ("(?i)calendar", "/CALENDAR/x", True),
        ("(?i)[a-c]x[^d]", "/BXE", True),
        ("(?i)[^d]$", "D", False),
        ("[]-]", "a-b", True),
        ("^$", "", True),
        ("", "anything", True),
        ("a|", "x", True),
    ],
)
def test_patterns_mean_what_they_do_elsewhere(pattern: str, text: str, is_found: bool) -> None:
    assert pattern_of(pattern).found_in(text) is is_found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(x+x+)+y", "x" * 8000),
        ("/.*a.*b.*c.*d$", "/" + "abc" * 2600),
        ("(a|a)*b", "a" * 8000),
        ("(.*)*(.*)*z", "y" * 8000),
        ("a{0,400}a{400}b", "a" * 2000),
    ],
)
def test_a_pattern_that_hangs_others_takes_one_look_a_character(pattern: str, text: str) -> None:
    """Counted, not timed: however long the text, only so many different sets of states are met."""
    found = pattern_of(pattern)
    assert not found.found_in(text)
    assert len(found._met) <= 1000


@pytest.mark.parametrize(
    ("pattern", "at", "says"),
    [
        ("ab(c", 2, "never closed"),
        ("ab)c", 2, "closes no group"),
        ("a[bc", 1, "never closed"),
        ("*a", 0, "nothing before it"),
        ("a{", 1, "begins no count"),
        ("a{3,1}", 1, "ends before it begins"),
        ("a{9999}", 1, "too large"),
        (r"(a)\1", 3, "not understood"),
        ("x(?=a)", 1, "only (?:...)"),
        ("[b-a]", 1, "ends before it begins"),
        (r"[\d-z]", 1, "ends before it begins"),
        ("^*", 0, "places"),
        ("a\\", 1, "not understood"),
        ("(((a{50}){50}){50})", 0, "too large"),
        ("(" * 60, 50, "in one another"),
    ],
)
def test_what_is_not_understood_is_pointed_at(pattern: str, at: int, says: str) -> None:
    with pytest.raises(Misread, match=re.escape(says)) as trouble:
        pattern_of(pattern)
    assert trouble.value.at == at
