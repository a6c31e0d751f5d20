"""Fifty crawls with random failures on a virtual clock; every step is checked by the simulation's own books."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.simulation.simulate import Kind, Result, simulate

from gossamer.frontier.api import Frontier
from gossamer.values.visit import Settled, Visit, VisitKind

SEEDS = 50
QUICK = Kind(reads=False)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_guarantee_holds_and_nothing_is_lost(seed: int) -> None:
    """One in five uses the real reader, which takes longer than everything else."""
    assert simulated(seed, Kind(reads=seed % 5 == 0)).visits > 0


@pytest.mark.parametrize("seed", range(8))
def test_F_P10_setting_the_clock_neither_brings_a_fetch_forward_nor_blocks_a_host(seed: int) -> None:
    assert simulated(seed, Kind(steps=True, reads=False)).visits > 0


@pytest.mark.parametrize("seed", range(3))
def test_F_H17_fifty_hosts_at_one_ip_address_get_at_most_four_fetches_at_once(seed: int) -> None:
    assert simulated(seed, Kind(hosts=50, pages=2, shared=1.0, reads=False)).visits > 100


def test_the_same_seed_gives_the_same_crawl() -> None:
    assert simulated(3, QUICK) == simulated(3, QUICK)


def test_most_crawls_are_killed_and_have_failures() -> None:
    """The checks above mean little unless crawls are killed and fetches fail."""
    ran = [simulated(seed, QUICK) for seed in range(100, 108)]
    assert sum(one.crashes for one in ran) >= 5
    assert sum(one.failures for one in ran) >= 50


class BrokenFrontier:
    """A frontier with a defect, in a subclass."""

    def __init__(self, inner: Frontier) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def take(self, at_most: int) -> list[Visit]:
        return await self._inner.take(at_most)

    async def settle(self, done: Sequence[Settled]) -> None:
        await self._inner.settle(done)


class LosesOffers(BrokenFrontier):
    async def settle(self, done: Sequence[Settled]) -> None:
        await self._inner.settle([msgspec.structs.replace(one, offers=one.offers[1:]) for one in done])


class LeasesTwice(BrokenFrontier):
    async def take(self, at_most: int) -> list[Visit]:
        return [visit for visit in await self._inner.take(at_most) for _ in range(2)]


class IgnoresRobots(BrokenFrontier):
    """Leases pages with rules that allow everything."""

    async def take(self, at_most: int) -> list[Visit]:
        return [_without_rules(visit) for visit in await self._inner.take(at_most)]


def _without_rules(visit: Visit) -> Visit:
    if visit.kind is VisitKind.ROBOTS or visit.robots is None:
        return visit
    return msgspec.structs.replace(visit, robots=msgspec.structs.replace(visit.robots, rules=()))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Kind(kept_s=0.9, reads=False), "too early"),
        (Kind(broken=LosesOffers, reads=False), "lost"),
        (Kind(broken=LeasesTwice, reads=False), "two leases"),
        (Kind(broken=IgnoresRobots, reads=False), "robots.txt disallows"),
    ],
    ids=["too-early", "loses-offers", "leases-twice", "ignores-robots"],
)
def test_the_books_detect_a_frontier_that_breaks_a_guarantee(kind: Kind, message: str) -> None:
    with pytest.raises(AssertionError, match=f"seed 1: .*{message}"):
        simulated(1, kind)


def simulated(seed: int, kind: Kind | None = None) -> Result:
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        return simulate(seed, Path(folder), kind)


def memory() -> str | None:
    """A folder in memory, where there is one: nothing here outlives the test."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
