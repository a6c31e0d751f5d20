"""How the parameters of a request are read, and the messages for invalid ones."""

from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.crawl.lists import VisitsParameters
from gossamer.web.crawl.routes import RulesParameters
from gossamer.web.responses import WebError
from gossamer.web.routes import read
from gossamer.web.search.routes import LONGEST_TYPED, SearchCsvParameters, SearchJsonParameters, SuggestParameters
from gossamer.web.search.state import (
    DEEPEST,
    GROUPS,
    LONGEST_DAY,
    LONGEST_VALUE,
    MOST_VALUES,
    SearchParameters,
    SearchState,
)

FILTERS = [name for group in GROUPS for name in (group.name, f"not_{group.name}")]
NAMES = st.sampled_from(["q", "since", "until", "sort", "from", "limit", "other", *FILTERS])
VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["", "best", "newest", "0", "10", " 7", "+5", "1_0", "1.0", "１", "-1", "1001", "schema:Person"]),
)


def search_of(query_string: bytes) -> SearchState | None:
    """None when the query is refused."""
    try:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
        return read(SearchParameters, pairs, {}).state()
    except WebError:
        return None


@given(st.lists(st.tuples(NAMES, VALUES), max_size=8))
@settings(max_examples=150, deadline=None)
def test_the_url_of_a_search_gives_the_same_search(pairs: list[tuple[str, str]]) -> None:
    search = search_of(urlencode(pairs).encode())
    assert search is None or search_of(search.parameters.encode()) == search


@given(st.binary(max_size=30))
@settings(max_examples=100, deadline=None)
def test_any_bytes_can_be_read(query_string: bytes) -> None:
    search = search_of(query_string)
    assert search is None or search_of(search.parameters.encode()) == search


def test_the_last_of_repeated_parameters_counts_unless_it_may_be_repeated() -> None:
    search = search_of(b"q=a&q=b&type=x&type=&type=y&type=x&not_site=c")
    assert search is not None and search.words == "b" and search.only["type"] == ("x", "y")
    assert search.never["site"] == ("c",)


@pytest.mark.parametrize(
    "pairs",
    [
        [("q", "tropical fish"), ("type", "http://schema.org/Person"), ("type", "Recipe"), ("not_site", "a.test")],
        [("q", "x" * 5000), ("since", "2026-01-01"), ("sort", "newest"), ("from", "30")],
        [("since", "x" * LONGEST_DAY), ("type", "x" * LONGEST_VALUE), ("from", str(DEEPEST))],
        [("type", f"{number}") for number in range(MOST_VALUES)],
        [],
    ],
)
def test_values_within_the_limits_are_accepted(pairs: list[tuple[str, str]]) -> None:
    assert search_of(urlencode(pairs).encode()) is not None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([("since", "x" * (LONGEST_DAY + 1))], "“since” must have at most 40 characters"),
        ([("not_type", "x" * (LONGEST_VALUE + 1))], "“not_type” must have at most 2048 characters"),
        ([("type", f"{number}") for number in range(MOST_VALUES + 1)], "“type” may be given at most 20 times"),
        ([("sort", "worst")], "“sort” must be one of: best, newest, oldest"),
        ([("from", str(DEEPEST + 1))], "“from” must be at most 1000"),
        ([("from", "-1")], "“from” must be at least 0"),
        ([("from", "")], "“from” must be a whole number"),
        ([("from", "9" * 5000)], "“from” is out of range"),
    ],
)
def test_invalid_values_are_refused_with_a_message(wrong: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(WebError) as refused:
        read(SearchParameters, wrong, {})
    assert str(refused.value) == f"The URL has an invalid parameter: {words}."


def test_other_kinds_of_parameters_have_messages_too() -> None:
    for kind, pair, words in (
        (RulesParameters, ("seconds", "soon"), "“seconds” must be a number"),
        (RulesParameters, ("seconds", "0"), "“seconds” must be at least 0.1"),
        (VisitsParameters, ("status", "6xx"), "“status” is not valid"),
        (SearchCsvParameters, ("limit", "x"), "“limit” must be a whole number"),
    ):
        with pytest.raises(WebError, match=words):
            read(kind, [pair], {})
    assert read(RulesParameters, [("draft", "null")], {}).draft == "null"


def test_limit_and_typed_text_are_bounded() -> None:
    for limit in ("1", "100"):
        assert read(SearchJsonParameters, [("q", "a"), ("limit", limit)], {}).limit == int(limit)
    for limit in ("0", "101", "x"):
        with pytest.raises(WebError):
            read(SearchJsonParameters, [("q", "a"), ("limit", limit)], {})
    assert read(SuggestParameters, [("q", "har")], {}).q == "har" and read(SuggestParameters, [], {}).q == ""
    with pytest.raises(WebError):
        read(SuggestParameters, [("q", "x" * (LONGEST_TYPED + 1))], {})
