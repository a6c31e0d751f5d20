"""Directives for robots in meta elements and header fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import SECOND
from gossamer.rules.robots import directives_of
from gossamer.values.page import Directives


def read(metas=(), fields=()):
    return directives_of(metas, fields, "Gossamer")


def test_a_page_without_directives_has_no_restrictions():
    assert read() == read([("description", "noindex")]) == read([("robots", "index, follow, all")]) == Directives()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("noindex", Directives(may_index=False)),
        ("NOFOLLOW", Directives(may_follow=False)),
        ("none", Directives(may_index=False, may_follow=False)),
        ("noarchive", Directives(may_cache=False)),
        ("nocache", Directives(may_cache=False)),
        (" noindex ,nofollow,  noarchive ", Directives(False, False, False)),
        ("noindexing", Directives()),
    ],
)
def test_F_R12_meta_robots_and_the_header_field_mean_the_same(content, expected):
    assert read([("robots", content)]) == read(fields=[content]) == expected


def test_F_R12_directives_for_another_robot_are_ignored():
    assert read([("otherbot", "noindex")]) == Directives()
    assert read(fields=["otherbot: noindex, nofollow"]) == Directives()


def test_F_R12_directives_for_our_robot_by_name_apply():
    assert read([("GOSSAMER", "noindex")]) == Directives(may_index=False)
    assert read(fields=["otherbot: nofollow, gossamer: noindex, noarchive"]) == Directives(False, True, False)


def test_F_R12_the_strictest_of_several_directives_wins():
    assert read([("robots", "noindex"), ("gossamer", "index")], ["nofollow"]) == Directives(False, False, True)


def test_F_R12_a_directive_with_a_value_is_not_a_robot_name():
    assert read(fields=["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"]) == Directives(may_index=False)
    assert read(fields=["otherbot: noindex", "max-snippet: 20, nofollow"]) == Directives(True, False, True, 20)


JUNE_2010 = 1_277_478_000 * SECOND  # 25 June 2010, 15:00 UTC


@pytest.mark.parametrize(
    "date",
    [
        "25 Jun 2010 15:00:00 GMT",
        "Fri, 25 Jun 2010 15:00:00 GMT",
        "Friday, 25-Jun-10 15:00:00 GMT",
        "2010-06-25T15:00:00Z",
        "2010-06-25T17:00:00+02:00",
        "25 Jun 2010 15:00:00",
    ],
)
def test_F_R12_a_page_is_not_indexed_once_its_date_has_passed(date: str) -> None:
    for directive in (f"unavailable_after: {date}", f"nofollow, UNAVAILABLE_AFTER:{date}, max-snippet: 3"):
        for metas, fields in (([("robots", directive)], []), ([], [directive]), ([], [f"gossamer: {directive}"])):
            restrictions = (False, True, 3) if "nofollow" in directive else (True, True, -1)
            assert directives_of(metas, fields, "Gossamer", JUNE_2010 - 1) == Directives(True, *restrictions)
            assert directives_of(metas, fields, "Gossamer", JUNE_2010) == Directives(False, *restrictions)
            assert directives_of(metas, fields, "Gossamer") == Directives(True, *restrictions)


@pytest.mark.parametrize("date", ["", "soon", "9999-99-99", "25 Jun 99999999 15:00:00 GMT", ",,,", "Fri,"])
def test_F_R12_an_invalid_date_forbids_nothing(date: str) -> None:
    assert directives_of([("robots", f"unavailable_after: {date}")], [], "Gossamer", JUNE_2010) == Directives()


def test_F_R12_a_date_for_another_robot_is_ignored() -> None:
    field = "otherbot: unavailable_after: 2001-01-01"
    assert directives_of([], [field], "Gossamer", JUNE_2010) == Directives()


@given(st.text(max_size=60), st.text(max_size=60))
def test_F_R12_no_text_raises(content: str, field: str) -> None:
    directives_of([("robots", content)], [field, f"unavailable_after: {field}"], "Gossamer", JUNE_2010)


@pytest.mark.parametrize(
    ("content", "most"),
    [
        ("nosnippet", 0),
        ("max-snippet:0", 0),
        ("max-snippet: 20", 20),
        ("max-snippet:-1", -1),
        ("max-snippet:20, max-snippet:10", 10),
        ("max-snippet:20, nosnippet", 0),
        ("max-snippet:many", -1),
        ("max-snippet:", -1),
    ],
)
def test_the_snippet_limit_is_read(content, most):
    assert read([("robots", content)]) == read(fields=[content]) == Directives(most_snippet=most)
    assert read([("Gossamer", content)]) == read(fields=[f"gossamer: {content}"]) == Directives(most_snippet=most)
