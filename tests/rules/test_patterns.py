"""Regular expressions in linear time, compared with Python's own on patterns that both support."""

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.rules.user.regex import DEEPEST, MOST_REMEMBERED, MOST_STATES, RuleSyntaxError, pattern_of

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
def test_patterns_mean_what_they_mean_in_other_engines(pattern: str, text: str, is_found: bool) -> None:
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
def test_a_pattern_that_hangs_other_engines_reads_each_character_once(pattern: str, text: str) -> None:
    """Counted, not timed: the number of different sets of states is bounded for any length of text."""
    found = pattern_of(pattern)
    assert not found.found_in(text)
    assert len(found._cache) <= 1000


@pytest.mark.parametrize(
    ("pattern", "at", "says"),
    [
        ("ab(c", 2, "never closed"),
        ("ab)c", 2, "closes no group"),
        ("a[bc", 1, "never closed"),
        ("*a", 0, "nothing before it"),
        ("a{", 1, "does not begin a count"),
        ("a{3,1}", 1, "ends before it begins"),
        ("a{9999}", 1, "too large"),
        (r"(a)\1", 3, "not supported"),
        ("x(?=a)", 1, "only (?:...)"),
        ("[b-a]", 1, "ends before it begins"),
        (r"[\d-z]", 1, "ends before it begins"),
        ("^*", 0, "positions"),
        ("a\\", 1, "not supported"),
        ("(((a{50}){50}){50})", 0, "too large"),
        ("(" * 60, 50, "nested more than 50 deep"),
    ],
)
def test_unsupported_syntax_is_reported_with_its_position(pattern: str, at: int, says: str) -> None:
    with pytest.raises(RuleSyntaxError, match=re.escape(says)) as error:
        pattern_of(pattern)
    assert error.value.at == at


ASCII = [chr(code) for code in range(128)]
WORD = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
CLASSES = {
    ".": set(ASCII) - {"\n"},
    r"\d": set("0123456789"),
    r"\w": WORD,
    r"\s": set(" \t\n\r\f\v"),
    r"\D": set(ASCII) - set("0123456789"),
    r"\W": set(ASCII) - WORD,
    r"\S": set(ASCII) - set(" \t\n\r\f\v"),
    r"\t": {"\t"},
    r"\n": {"\n"},
    r"\r": {"\r"},
    r"\f": {"\f"},
    r"\v": {"\v"},
    r"\.": {"."},
    "\\\\": {"\\"},
    "[a-c]": set("abc"),
    "[^a-c]": set(ASCII) - set("abc"),
    "[c-c]": {"c"},
    "[a-]": set("a-"),
    "[-a]": set("a-"),
    "[]a]": set("]a"),
    "[^]a]": set(ASCII) - set("]a"),
    "[a^]": set("a^"),
    r"[\d\s]": set("0123456789 \t\n\r\f\v"),
    r"[\w-]": WORD | {"-"},
    r"[\]x]": set("]x"),
    "[.*+?{}()|$]": set(".*+?{}()|$"),
    "[ -~]": {chr(code) for code in range(32, 127)},
    "(?i)a": set("aA"),
    "(?i)[x-z1]": set("xyzXYZ1"),
    "(?i)[^x-z]": set(ASCII) - set("xyzXYZ"),
    r"(?i)\w": WORD,
    r"(?i)\.": {"."},
    "(?i)@": {"@"},
}


@pytest.mark.parametrize(("pattern", "members"), CLASSES.items())
def test_a_class_contains_exactly_these_characters(pattern: str, members: set[str]) -> None:
    found = pattern_of(pattern if pattern.startswith("(?i)") else f"^{pattern}$")
    assert {character for character in ASCII if found.found_in(character)} == members
    is_opposite = pattern in (".", r"\D", r"\W", r"\S") or "[^" in pattern
    assert all(found.found_in(other) is is_opposite for other in "\x80é日\U0001f600"), "non-ASCII characters are alike"


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [
        ("a*", range(8)), ("a+", range(1, 8)), ("a?", range(2)), ("a{3}", [3]), ("a{0}", [0]), ("a{2,}", range(2, 8)),
        ("a{0,}", range(8)), ("a{2,4}", [2, 3, 4]), ("a{0,2}", [0, 1, 2]), ("a{1,1}", [1]), ("a{2}{2}", [4]),
        ("(aa){1,2}", [2, 4]), ("(?:aa)+", [2, 4, 6]), ("a*?", range(8)), ("a{2,3}?", [2, 3]), ("a|aa|aaaa", [1, 2, 4]),
        ("(a|)a", [1, 2]), ("(|a){2}", [0, 1, 2]), ("a?a?a", [1, 2, 3]), ("(a{2}){2,3}", [4, 6]), ("(a*)*", range(8)),
        ("(a+)+a", range(2, 8)), ("", [0]), ("()", [0]), ("(a?){3}", range(4)),
    ],
)  # fmt: skip
def test_repetitions_match_exactly_the_given_counts(pattern: str, lengths: list[int]) -> None:
    found = pattern_of(f"^({pattern})$")
    assert [length for length in range(8) if found.found_in("a" * length)] == list(lengths)


@pytest.mark.parametrize(
    ("pattern", "found_in"),
    [
        ("^a", ["a", "ab"]), ("a$", ["a", "ba"]), ("^a$", ["a"]), ("a|^b", ["a", "ab", "ba", "b", "bab"]),
        ("(^|b)a", ["a", "ab", "ba", "bab"]), ("a(b|$)", ["a", "ab", "ba", "bab"]), ("a^", []), ("$a", []),
        ("b$|^ab", ["ab", "b", "bab"]), ("^^a$$", ["a"]), ("(a$|b)$", ["a", "ab", "ba", "b", "bab"]),
    ],
)  # fmt: skip
def test_anchors_match_the_two_ends_of_the_text(pattern: str, found_in: list[str]) -> None:
    found = pattern_of(pattern)
    assert [text for text in ("a", "ab", "ba", "b", "bab", "") if found.found_in(text)] == found_in


@pytest.mark.parametrize(
    ("pattern", "at", "says"),
    [
        ("+", 0, "nothing before it"), ("a|*", 2, "nothing before it"), ("(?", 0, "only (?:...)"),
        ("(?P<x>a)", 0, "only (?:...)"), ("a(?i)b", 1, "only (?:...)"), ("(a))", 3, "closes no group"),
        ("(", 0, "never closed"), ("[", 0, "never closed"), ("[]", 0, "never closed"), ("[^]", 0, "never closed"),
        ("a{x}", 1, "not begin a count"), ("a{}", 1, "not begin a count"), ("a{,2}", 1, "not begin a count"),
        ("a{2,x}", 1, "not begin a count"), ("a{1", 1, "not begin a count"), ("{2}", 0, "nothing before it"),
        ("a{2001}", 1, "too large"), ("a{1,2001}", 1, "too large"), ("a{2,1}", 1, "ends before it begins"),
        ("$+", 0, "positions"), ("a^{2}", 1, "positions"), (r"\b", 0, "not supported"), (r"\0", 0, "not supported"),
        ("[z-a]", 1, "ends before it begins"), (r"[a-\d]", 1, "ends before it begins"),
        ("((a{1000}){3})", 0, "too large"), ("(?i)(", 4, "never closed"),
    ],
)  # fmt: skip
def test_each_error_in_a_pattern_is_reported_with_its_position(pattern: str, at: int, says: str) -> None:
    with pytest.raises(RuleSyntaxError) as error:
        pattern_of(pattern)
    assert says in error.value.says and error.value.says == str(error.value)
    assert error.value.at == at


def test_a_pattern_may_be_as_large_and_as_deep_as_the_limits() -> None:
    assert pattern_of("(" * DEEPEST + "a" + ")" * DEEPEST).found_in("a")
    with pytest.raises(RuleSyntaxError, match="nested more than 50 deep"):
        pattern_of("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1))
    assert pattern_of("()" * (DEEPEST + 5)).found_in("")
    assert pattern_of(f"a{{{MOST_STATES - 1}}}").found_in("a" * (MOST_STATES - 1))
    assert not pattern_of(f"a{{{MOST_STATES - 1}}}").found_in("a" * (MOST_STATES - 2))
    with pytest.raises(RuleSyntaxError, match="too large"):
        pattern_of(f"a{{{MOST_STATES}}}b{{5}}")


def test_the_cache_is_bounded_and_changes_no_result() -> None:
    found = pattern_of("^(a|b)*a(a|b){11}$")
    chance = random.Random(6)
    for _ in range(60):
        text = "".join(chance.choices("ab", k=60))
        assert found.found_in(text) is (text[-12] == "a")
        assert len(found._cache) <= MOST_REMEMBERED
