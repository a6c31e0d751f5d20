"""Which versions of a page are kept: always the newest and what others refer to; a second run changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.base.clock import DAY
from gossamer.config.slices import Retain, retain_of
from gossamer.rules.retention import MONTH, WEEK, RetainedVersion, kept
from gossamer.values.capture import VANISHED

NOW = 3_000 * DAY
LAST = [Retain("last", n) for n in (1, 2, 5)]
RULES = [Retain(), Retain("thinned"), *LAST]


@st.composite
def histories(draw: st.DrawFn) -> list[RetainedVersion]:
    """Captures of one URL, the oldest first; some have no body and refer to an earlier one that has one."""
    ages = draw(st.lists(st.integers(0, 2_500 * 24), min_size=1, max_size=60, unique=True))
    made: list[RetainedVersion] = []
    for age in sorted(ages, reverse=True):
        bodies = [one.fetched_at for one in made if one.refers_at is None]
        at, status = NOW - age * DAY // 24, draw(st.sampled_from([200, 200, 200, 301, 404, 500]))
        refers_at = draw(st.sampled_from([None, *bodies[-2:]]))
        is_page = refers_at is None and status == 200 and draw(st.booleans())
        made.append(RetainedVersion(at, 304 if refers_at else status, is_page, refers_at))
    return made


@given(histories(), st.sampled_from(RULES))
def test_the_newest_version_and_the_newest_page_are_kept(past: list[RetainedVersion], retain: Retain) -> None:
    retained = kept(past, retain, NOW)
    assert past[-1].fetched_at in retained
    assert [one.fetched_at for one in past if one.is_page][-1:] == sorted(
        retained & {one.fetched_at for one in past if one.is_page}
    )[-1:]


@given(histories(), st.sampled_from(RULES))
def test_versions_that_a_kept_version_refers_to_are_kept(past: list[RetainedVersion], retain: Retain) -> None:
    retained = kept(past, retain, NOW)
    assert retained <= {one.fetched_at for one in past}
    assert all(one.refers_at is None or one.refers_at in retained for one in past if one.fetched_at in retained)


@given(histories(), st.sampled_from(RULES))
def test_applying_the_rule_again_keeps_the_same_versions(past: list[RetainedVersion], retain: Retain) -> None:
    retained = kept(past, retain, NOW)
    assert kept([one for one in past if one.fetched_at in retained], retain, NOW) == retained


@given(histories(), st.sampled_from(RULES))
def test_the_views_are_rebuilt_as_they_were(past: list[RetainedVersion], retain: Retain) -> None:
    """The views hold the newest page, unless it has vanished since or a later response may have a noindex."""

    def held(versions: list[RetainedVersion]) -> tuple[object, ...]:
        page = next((one for one in reversed(versions) if one.is_page), None)
        later = [one for one in versions if page is not None and one.fetched_at > page.fetched_at]
        silent = [one.fetched_at for one in later if one.status == 200 and one.refers_at is None]
        return page, any(one.status in VANISHED for one in later), silent

    retained = kept(past, retain, NOW)
    assert held([one for one in past if one.fetched_at in retained]) == held(past)


@given(histories())
def test_thinning_keeps_the_first_version(past: list[RetainedVersion]) -> None:
    assert past[0].fetched_at in kept(past, Retain("thinned"), NOW)


@given(histories(), st.integers(0, 400))
def test_thinning_twice_gives_the_same_as_thinning_once_later(past: list[RetainedVersion], days: int) -> None:
    """Months are whole weeks: keeping one version a week is enough to keep one a month."""
    plain = [RetainedVersion(one.fetched_at) for one in past]
    first = kept(plain, Retain("thinned"), NOW)
    later = NOW + days * DAY
    again = kept([one for one in plain if one.fetched_at in first], Retain("thinned"), later)
    assert again == kept(plain, Retain("thinned"), later)


def test_thinning_keeps_all_of_a_month_then_one_a_week_then_one_every_four_weeks() -> None:
    daily = [RetainedVersion(NOW - age * DAY) for age in range(1_000, -1, -1)]
    retained = kept(daily, Retain("thinned"), NOW)
    ages = sorted((NOW - at) // DAY for at in retained)
    assert ages[:31] == list(range(31))
    weekly = [NOW - age * DAY for age in ages if 30 < age <= 364]
    monthly = [NOW - age * DAY for age in ages if 364 < age < 1_000]
    assert len({at // WEEK for at in weekly}) == len(weekly) and len(weekly) in (48, 49)
    assert len({at // MONTH for at in monthly}) == len(monthly) and len(monthly) in (22, 23, 24)
    assert ages[-1] == 1_000


def test_last_counts_versions_with_a_body_and_keeps_their_later_sightings() -> None:
    past = [
        RetainedVersion(1),
        RetainedVersion(2),
        RetainedVersion(3, 304, False, 2),
        RetainedVersion(4),
        RetainedVersion(5, 304, False, 4),
    ]
    assert kept(past, Retain("last", 1), NOW) == {4, 5}
    assert kept(past, Retain("last", 2), NOW) == {2, 3, 4, 5}


def test_failures_and_insignificant_changes_displace_no_page() -> None:
    past = [
        RetainedVersion(1),
        RetainedVersion(2),
        RetainedVersion(3),
        *(RetainedVersion(at, 503, False) for at in range(4, 9)),
    ]
    past += [RetainedVersion(at, 200, False) for at in range(9, 12)]
    assert kept(past, Retain("last", 2), NOW) == {2, 3, 9, 10, 11}, "a version after the last page may have a noindex"


def test_the_time_when_a_page_was_found_gone_is_kept() -> None:
    past = [
        RetainedVersion(1),
        RetainedVersion(2, 410, False),
        RetainedVersion(3, 410, False),
        RetainedVersion(4),
        *_gone(5, 6, 7, 8),
    ]
    assert kept(past, Retain("last", 1), NOW) == {4, 5, 8}
    assert kept(past, Retain("last", 2), NOW) == {1, 2, 4, 5, 7, 8}


def _gone(*moments: int) -> list[RetainedVersion]:
    return [RetainedVersion(at, 404, False) for at in moments]


def test_in_each_week_a_page_is_kept_rather_than_a_later_failure() -> None:
    start = (NOW - 200 * DAY) // WEEK * WEEK
    week = [
        RetainedVersion(start),
        RetainedVersion(start + DAY),
        RetainedVersion(start + 2 * DAY, 304, False, start + DAY),
    ]
    week += [RetainedVersion(start + 3 * DAY, 500, False), RetainedVersion(start + 4 * DAY, 404, False)]
    past = [RetainedVersion(start - 9 * WEEK), *week, RetainedVersion(NOW - DAY)]
    assert kept(past, Retain("thinned"), NOW) == {start - 9 * WEEK, start + DAY, NOW - DAY}
    failing = [past[0], *week[2:], past[-1]]
    failing[1] = RetainedVersion(start + 2 * DAY, 304, False, start - 9 * WEEK)
    assert start + 2 * DAY in kept(failing, Retain("thinned"), NOW)


def test_a_robots_txt_is_kept_like_a_page() -> None:
    past = [RetainedVersion(at, 200, False) for at in range(1, 10)]
    assert kept(past, Retain("last", 2), NOW) == {8, 9}


def test_a_page_with_a_later_noindex_is_not_restored() -> None:
    """A page, a noindex, a failure: without the second version, a rebuild would restore the first."""
    past = [RetainedVersion(1), RetainedVersion(2, 200, False), RetainedVersion(3, 500, False)]
    assert kept(past, Retain("last", 1), NOW) == {1, 2, 3}


@pytest.mark.parametrize("text", ["", "last", "last:0", "last:-1", "last:1.5", "first:2", "ALL", "last:5 "])
def test_unknown_retention_rules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not all, last:N"):
        retain_of(text)


def test_the_three_retention_rules_are_parsed() -> None:
    assert [retain_of(text) for text in ("all", "thinned", "last:12")] == [
        Retain(),
        Retain("thinned"),
        Retain("last", 12),
    ]


def test_a_redirect_is_not_a_successful_response_and_is_not_kept_for_the_views() -> None:
    past = [RetainedVersion(NOW - 3 * DAY, 200, True, None), RetainedVersion(NOW - 2 * DAY, 300, False, None)]
    past += [RetainedVersion(NOW - DAY, 299, False, None), RetainedVersion(NOW, 500, False, None)]
    retained = kept(past, Retain("last", 1), NOW)
    assert NOW - DAY in retained and NOW - 2 * DAY not in retained


def test_recent_versions_do_not_displace_old_ones() -> None:
    """A week that is partly more than a month ago keeps one of its old captures and all of its recent ones."""
    daily = [RetainedVersion(at) for at in range(NOW - 60 * DAY, NOW + 1, DAY)]
    for now in range(NOW, NOW + 7 * DAY, DAY):
        retained = kept(daily, Retain("thinned"), now)
        old = [one.fetched_at for one in daily if now - one.fetched_at > 30 * DAY]
        newest_of_week = {at // WEEK: at for at in old}
        assert set(newest_of_week.values()) <= retained, now
