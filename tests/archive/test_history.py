"""Which captures were current at a time, and how times may be written."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.archive.past import DAY, HOUR, SHOP, START_AT, captured, collection, kettle

from gossamer.archive.versions import in_force, kinds_of, moment_of, until, vanished
from gossamer.base.clock import SECOND, in_words
from gossamer.store.sqlite.database import read_only
from gossamer.values.capture import Kept, Place
from gossamer.values.history import Change
from gossamer.values.url import Host, Url

ELSEWHERE = Url("https://other.test/")


def numbers(root: Path, at: int, host: Host | None = None) -> dict[str, list[int]]:
    """By URL: how many hours after the start its responses were fetched."""
    with closing(read_only(root / "state.db")) as state:
        found = list(until(state, at, host))
    return {one[0].url.text: [(kept.fetched_at - START_AT) // HOUR for kept in one] for one in found}


def test_the_newest_capture_of_each_url_at_a_time_comes_first(tmp_path: Path) -> None:
    taken = [captured(SHOP, START_AT + hour * HOUR, kettle(str(hour))) for hour in (0, 5, 9)]
    taken += [captured(ELSEWHERE, START_AT + 6 * HOUR, kettle()), captured(SHOP, START_AT + 7 * HOUR, "no", 500)]
    collection(tmp_path, taken)
    assert numbers(tmp_path, START_AT - 1) == {}
    assert numbers(tmp_path, START_AT) == {SHOP.text: [0]}
    assert numbers(tmp_path, START_AT + 8 * HOUR) == {SHOP.text: [5, 0], ELSEWHERE.text: [6]}
    assert numbers(tmp_path, START_AT + DAY, Host("other.test")) == {ELSEWHERE.text: [6]}
    assert numbers(tmp_path, START_AT + DAY, Host("nowhere.test")) == {}


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("2026-11-15T08:30:00Z", "2026-11-15T08:30:00.000000Z"),
        ("2026-11-15T08:30", "2026-11-15T08:30:00.000000Z"),
        (" 2026-11-15 08:30:00+02:00", "2026-11-15T06:30:00.000000Z"),
        ("2026-11-15", "2026-11-15T23:59:59.999999Z"),
        ("20261115", "2026-11-15T23:59:59.999999Z"),
        ("2026-11-15t08:30z", "2026-11-15T08:30:00.000000Z"),
    ],
)
def test_a_time_is_written_as_rfc_3339_or_the_beginning_of_it(text: str, means: str) -> None:
    assert in_words(moment_of(text)) == means


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-11-31", "12345678901234567890", "1"])
def test_text_that_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        moment_of(text)


def test_F_P10_a_time_after_2038_is_valid() -> None:
    assert moment_of("2041-01-01T00:00:00Z") == 2_240_611_200 * SECOND


def answers(*kinds: str) -> list[Kept]:
    """Newest first, each given as its status, with a `p` when it is a page."""
    url, place = Url("https://example.org/"), Place("v", 0, 1, 0)
    return [
        Kept(number, url, -number, place, int(kind[:3]), "text/html", b"", 1, kind.endswith("p"))
        for number, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(
    ("kinds", "number"),
    [
        (("404", "200p"), 0),
        (("404", "410", "200p"), 1),
        (("500", "404", "200p"), 1),
        (("404", "500", "200p"), 0),
        (("404", "200", "404", "200p"), 2),
        (("200", "404", "200p"), None),
        (("299", "404", "200p"), None),
        (("300", "404", "200p"), 1),
        (("200p", "404", "200p"), None),
        (("404", "404"), None),
        ((), None),
    ],
)
def test_a_page_is_gone_since_the_first_404_or_410_after_its_last_success(
    kinds: tuple[str, ...], number: int | None
) -> None:
    found = answers(*kinds)
    assert vanished(found) is (None if number is None else found[number])


@pytest.mark.parametrize(
    ("kinds", "count"),
    [(("200p", "200p"), 1), (("500", "200p", "404"), 2), (("404", "200p"), 0), (("500", "410"), 0), (("500",), 0)],
)
def test_the_newest_page_and_the_responses_since_are_in_force(kinds: tuple[str, ...], count: int) -> None:
    found = answers(*kinds)
    assert in_force(found) == found[:count]


def test_each_kind_of_change_has_a_name() -> None:
    assert kinds_of(Change.BYTES | Change.TEXT | Change.FACTS) == ("bytes", "text", "facts")
    assert kinds_of(Change.TEXT) == ("text",) and kinds_of(Change(0)) == ()
