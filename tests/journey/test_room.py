"""How many visits may be under way."""

import pytest

from gossamer.journey import Pace, room_for


@pytest.mark.parametrize(
    ("flying", "slow", "room"),
    [(0, 0, 8), (5, 0, 3), (8, 0, 0), (8, 3, 3), (8, 8, 8), (16, 16, 8), (31, 31, 1), (32, 32, 0), (40, 40, 0)],
)
def test_F_X8_slow_visits_leave_their_places_to_others_within_bounds(flying: int, slow: int, room: int) -> None:
    assert room_for(Pace(at_once=8), flying, 0, slow) == room


def test_the_limit_on_pages_holds_whoever_waits() -> None:
    assert room_for(Pace(at_once=8, max_pages=10), 3, 6, 8) == 1
    assert room_for(Pace(at_once=8, max_pages=10), 4, 6, 8) == 0
