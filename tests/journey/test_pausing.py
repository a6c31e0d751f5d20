"""A crawl that is paused, or waits for its views, sleeps until it is woken."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.journey.crawling import crawl
from tests.simulation.virtual import VirtualClock, VirtualLoop

from gossamer.base.clock import Instant
from gossamer.base.environment import seeded
from gossamer.base.tell import silent
from gossamer.config.slices import RobotsKeeping
from gossamer.crawler.journey import Crawl
from gossamer.crawler.pace import HELD_S, WAIT_S, Hold, Pace, hold_of, sleep_s
from gossamer.crawler.settlement import Measures
from gossamer.crawler.steps.rooms import Rooms
from gossamer.recrawl.retry import Retry
from gossamer.values.visit import Counts, Visit


def test_a_paused_crawl_with_nothing_left_waits_to_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.crawler.pace.HELD_S", 0.05)
    looks: list[bool] = []

    def is_paused() -> bool:
        looks.append(len(looks) < 8)
        return looks[-1]

    done = asyncio.run(crawl(tmp_path, {}, [], is_paused=is_paused))
    assert done.asked == [] and looks.count(True) == 8 and looks[-1] is False, "it ends only after it may continue"


@pytest.mark.parametrize(
    ("is_paused", "lag_s", "hold"),
    [
        (False, 0.0, None),
        (True, 0.0, Hold.PAUSED),
        (False, 2.5, None),
        (False, 2.6, Hold.VIEWS),
        (True, 9.0, Hold.PAUSED),
    ],
)
def test_a_crawl_is_held_while_it_is_paused_or_its_views_lag(is_paused: bool, lag_s: float, hold: Hold | None) -> None:
    assert hold_of(is_paused, lag_s, Pace()) == hold


def test_a_held_crawl_sleeps_even_if_fetches_are_due() -> None:
    for hold in (Hold.PAUSED, Hold.VIEWS):
        assert sleep_s(hold, 0.0) == sleep_s(hold, None) == HELD_S
    assert sleep_s(Hold.DISK, 0.0) == sleep_s(None, None) == sleep_s(None, 60.0) == WAIT_S
    assert sleep_s(None, 0.1) == 0.1 and 0 < sleep_s(None, -5.0) < 0.01


class Overdue:
    """A frontier that always has something due, which must not be taken; it counts the calls of next_at."""

    def __init__(self) -> None:
        self.is_over, self.calls = False, 0

    async def next_at(self) -> Instant | None:
        self.calls += 1
        return None if self.is_over else 0

    async def take(self, at_most: int) -> list[Visit]:
        assert self.is_over, "nothing must be taken"
        return []

    async def counts(self) -> Counts:
        return Counts()


@pytest.mark.parametrize("held_by", [Hold.PAUSED, Hold.VIEWS])
def test_a_held_crawl_sleeps_and_continues_at_once_when_it_is_woken(held_by: Hold) -> None:
    """The turns of its loop are counted, on a clock that advances only when all tasks sleep."""
    looks, frontier = 0, Overdue()

    def is_held() -> bool:
        nonlocal looks
        looks += 1
        return not frontier.is_over

    rooms: dict[str, Any] = dict.fromkeys(("fetch", "read", "writer"))
    rooms["is_paused"] = is_held if held_by is Hold.PAUSED else lambda: False
    rooms["lag_s"] = (lambda: 9.0 * is_held()) if held_by is Hold.VIEWS else lambda: 0.0
    rooms |= {"frontier": frontier, "has_room": lambda: True, "tell": silent, "agent": "x", "pace": Pace()}

    async def run(loop: VirtualLoop) -> None:
        clock = VirtualClock(loop)
        held = Crawl(Rooms(clock=clock, measures=Measures(seeded(1), Retry(), RobotsKeeping()), **rooms))
        running = asyncio.ensure_future(held.run(asyncio.Event()))
        await asyncio.sleep(30.0)
        assert looks <= 40 and frontier.calls <= 16, "it does not loop every 5 ms"
        frontier.is_over = True
        woken_at_s = loop.time()
        held.wake()
        await running
        assert loop.time() - woken_at_s < 0.1

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        runner.run(run(loop))
