"""What a page asks of robots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import SECOND
from gossamer.rules.robots import directives_of
from gossamer.values.page import Directives


def asked(metas=(), fields=()):
    return directives_of(metas, fields, "Gossamer")


def test_a_page_that_asks_for_nothing_is_free():
    assert asked() == asked([("description", "noindex")]) == asked([("robots", "index, follow, all")]) == Directives()


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
    assert asked([("robots", content)]) == asked(fields=[content]) == expected


def test_F_R12_what_is_asked_of_another_robot_does_not_concern_us():
    assert asked([("otherbot", "noindex")]) == Directives()
    assert asked(fields=["otherbot: noindex, nofollow"]) == Directives()


def test_F_R12_what_is_asked_of_us_by_name_does():
    assert asked([("GOSSAMER", "noindex")]) == Directives(may_index=False)
    assert asked(fields=["otherbot: nofollow, gossamer: noindex, noarchive"]) == Directives(False, True, False)


def test_F_R12_the_stricter_of_several_wins():
    assert asked([("robots", "noindex"), ("gossamer", "index")], ["nofollow"]) == Directives(False, False, True)


def test_F_R12_a_directive_with_a_value_is_no_name():
    assert asked(fields=["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"]) == Directives(may_index=False)
    assert asked(fields=["otherbot: noindex", "max-snippet: 20, nofollow"]) == Directives(True, False, True, 20)


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
    for said in (f"unavailable_after: {date}", f"nofollow, UNAVAILABLE_AFTER:{date}, max-snippet: 3"):
        for metas, fields in (([("robots", said)], []), ([], [said]), ([], [f"gossamer: {said}"])):
            asks = (False, True, 3) if "nofollow" in said else (True, True, -1)
            assert directives_of(metas, fields, "Gossamer", JUNE_2010 - 1) == Directives(True, *asks)
            assert directives_of(metas, fields, "Gossamer", JUNE_2010) == Directives(False, *asks)
            assert directives_of(metas, fields, "Gossamer") == Directives(True, *asks)


@pytest.mark.parametrize("date", ["", "soon", "9999-99-99", "25 Jun 99999999 15:00:00 GMT", ",,,", "Fri,"])
def test_F_R12_a_date_that_is_none_forbids_nothing(date: str) -> None:
    assert directives_of([("robots", f"unavailable_after: {date}")], [], "Gossamer", JUNE_2010) == Directives()


def test_F_R12_a_date_for_another_robot_does_not_concern_us() -> None:
    field = "otherbot: unavailable_after: 2001-01-01"
    assert directives_of([], [field], "Gossamer", JUNE_2010) == Directives()


@given(st.text(max_size=60), st.text(max_size=60))
def test_F_R12_no_text_makes_it_fail(content: str, field: str) -> None:
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
def test_how_much_may_be_quoted(content, most):
    assert asked([("robots", content)]) == asked(fields=[content]) == Directives(most_snippet=most)
    assert asked([("Gossamer", content)]) == asked(fields=[f"gossamer: {content}"]) == Directives(most_snippet=most)
