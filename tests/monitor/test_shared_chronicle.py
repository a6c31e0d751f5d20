"""The crawlers of a cluster write one chronicle, in its database."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.segments.cluster import Cluster, on_disks

from gossamer.base.clock import SECOND
from gossamer.base.tell import silent
from gossamer.monitor import chronicle
from gossamer.monitor.samples import ChronicleWriter
from gossamer.testing import FakeClock


@pytest.fixture
def found(tmp_path: Path) -> Cluster:
    return on_disks(tmp_path, disks=1, copies=1)


def writer(found: Cluster, name: str, clock: FakeClock) -> ChronicleWriter:
    made = ChronicleWriter(found.node(name), replace(found.outside(name), clock=clock), True, silent)
    made.begin()
    return made


def runs(found: Cluster) -> list[tuple[float, bool]]:
    """How long each run lasted, and whether it is over, as any command reads it."""
    known = chronicle.read(found.files(), found.node().root)
    return [((one.heard_at - one.started_at) / SECOND, one.is_over) for one in known.runs]


def test_crawlers_that_run_together_are_one_run_that_ends_with_the_last(found: Cluster) -> None:
    clock = FakeClock()
    one = writer(found, "a", clock)
    clock.advance(10)
    two = writer(found, "b", clock)
    assert runs(found) == [(0, False)]
    two.add_sample()
    assert runs(found) == [(10, False)]
    clock.advance(5)
    one.add_sample(apart_s=6)
    assert runs(found) == [(10, False)], "another crawler has just written"
    clock.advance(5)
    one.add_sample(apart_s=6)
    assert runs(found) == [(20, False)]
    one.add_sample(is_over=True)
    clock.advance(5)
    two.add_sample()
    assert runs(found) == [(25, False)], "one of two has ended"
    two.add_sample(is_over=True)
    clock.advance(100)
    writer(found, "c", clock)
    assert runs(found) == [(25, True), (0, False)]


def test_a_crawler_begins_a_run_when_those_before_are_long_silent(found: Cluster) -> None:
    clock = FakeClock()
    writer(found, "a", clock)
    clock.advance(3600)
    writer(found, "a", clock)
    assert runs(found) == [(0, False), (0, False)]
