"""Fifty crawls with seeded faults on a virtual clock; every step is checked by the simulation's own books."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.simulation.simulate import Kind, Ran, simulate

from gossamer.frontier.api import Frontier
from gossamer.values.visit import Settled, Visit, VisitKind

SEEDS = 50
QUICK = Kind(reads=False)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_promise_is_kept_and_nothing_is_lost(seed: int) -> None:
    """One in five reads its pages with the real reader, which takes longer than all the rest."""
    assert simulated(seed, Kind(reads=seed % 5 == 0)).visits > 0


@pytest.mark.parametrize("seed", range(8))
def test_F_P10_setting_the_clock_neither_brings_a_visit_forward_nor_hangs_a_host(seed: int) -> None:
    assert simulated(seed, Kind(steps=True, reads=False)).visits > 0


@pytest.mark.parametrize("seed", range(3))
def test_F_H17_fifty_hosts_on_one_address_are_never_more_than_four_visits_at_once(seed: int) -> None:
    assert simulated(seed, Kind(hosts=50, pages=2, shared=1.0, reads=False)).visits > 100


def test_the_same_seed_is_the_same_crawl() -> None:
    assert simulated(3, QUICK) == simulated(3, QUICK)


def test_most_crawls_are_killed_and_meet_trouble() -> None:
    """What holds of a web where nothing happens holds of little."""
    ran = [simulated(seed, QUICK) for seed in range(100, 108)]
    assert sum(one.crashes for one in ran) >= 5
    assert sum(one.failures for one in ran) >= 50


class Spoilt:
    """A frontier with something wrong in front of it."""

    def __init__(self, inner: Frontier) -> None:
        self._inner = inner
        self.said = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def take(self, at_most: int) -> list[Visit]:
        return await self._inner.take(at_most)

    async def settle(self, done: Sequence[Settled]) -> None:
        await self._inner.settle(done)


class Forgetful(Spoilt):
    async def settle(self, done: Sequence[Settled]) -> None:
        await self._inner.settle([msgspec.structs.replace(one, offers=one.offers[1:]) for one in done])


class Doubling(Spoilt):
    async def take(self, at_most: int) -> list[Visit]:
        return [visit for visit in await self._inner.take(at_most) for _ in range(2)]


class Deaf(Spoilt):
    """Hands pages out under rules that allow everything."""

    async def take(self, at_most: int) -> list[Visit]:
        return [_lawless(visit) for visit in await self._inner.take(at_most)]


def _lawless(visit: Visit) -> Visit:
    if visit.kind is VisitKind.ROBOTS or visit.robots is None:
        return visit
    return msgspec.structs.replace(visit, robots=msgspec.structs.replace(visit.robots, rules=()))


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Kind(kept_s=0.9, reads=False), "too early"),
        (Kind(spoilt=Forgetful, reads=False), "lost"),
        (Kind(spoilt=Doubling, reads=False), "two leases"),
        (Kind(spoilt=Deaf, reads=False), "robots.txt disallows"),
    ],
    ids=["hasty", "forgetful", "doubling", "deaf"],
)
def test_the_books_notice_a_frontier_that_breaks_its_promises(kind: Kind, says: str) -> None:
    with pytest.raises(AssertionError, match=f"seed 1: .*{says}"):
        simulated(1, kind)


def simulated(seed: int, kind: Kind | None = None) -> Ran:
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        return simulate(seed, Path(folder), kind)


def memory() -> str | None:
    """A folder that costs no disk, where there is one: nothing here outlives the test."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
