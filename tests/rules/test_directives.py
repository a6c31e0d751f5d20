"""What a page asks of robots."""

import pytest

from gossamer.rules.directives import directives_of
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
    assert asked(fields=["otherbot: noindex", "max-snippet: 20, nofollow"]) == Directives(may_follow=False)
