"""The crash harness in its short version: twenty kills, including each named crash point.

`make crash KILLS=200` is the long run.
"""

import ast
import random
from pathlib import Path

import pytest
from tests.crash import harness, verify

from gossamer.base.tell import CRASH_POINTS
from gossamer.demo.server import Logged

SRC = Path(__file__).parents[2] / "src" / "gossamer"
KILLS = 20


@pytest.mark.slow
@pytest.mark.timeout(1100)
def test_F_P1_twenty_kills_lose_nothing_and_keep_every_gap(tmp_path: Path) -> None:
    rounds = harness.run(KILLS, tmp_path, seed=20, hosts=9, pages=180)
    assert [error for _, found in rounds for error in found.errors()] == []
    assert sum(len(one.kills) for one, _ in rounds) >= KILLS
    assert {point for one, _ in rounds for point in one.reached} == set(CRASH_POINTS)
    assert sum(found.acknowledged for _, found in rounds) > 180


def reported_in(tree: ast.Module) -> set[str]:
    """The events that a module reports with a literal name."""
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("tell")
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def test_every_crash_point_is_reported_somewhere() -> None:
    reported = {event for path in SRC.rglob("*.py") for event in reported_in(ast.parse(path.read_text()))}
    assert set(CRASH_POINTS) <= reported


def test_a_plan_has_every_crash_point_and_the_requested_number_of_kills() -> None:
    plan = harness.plan_of(KILLS, random.Random(3))
    assert len(plan) == KILLS and set(CRASH_POINTS) <= set(plan)
    assert set(plan) <= set(CRASH_POINTS) | set(harness.TARGETS)


def settled(url: str, read_at: int, again: bool = False, kind: str = "page") -> dict[str, object]:
    return {"url": url, "read_at": read_at, "again": again, "kind": kind, "outcome": "fetched"}


def hit(target: str, asked_at: int) -> Logged:
    return Logged("a.test", target, 200, asked_at, asked_at + 10)


def test_a_page_that_is_fetched_after_its_acknowledgement_is_found() -> None:
    events = [settled("http://a.test/x", 100), settled("http://a.test/y", 100, again=True)]
    hits = [hit("/x", 50), hit("/y", 50), hit("/y", 500)]
    assert verify.fetched_after(hits, events) == []
    assert verify.fetched_after([*hits, hit("/x", 200)], events) == ["http://a.test/x"]


def test_refetches_are_counted_except_announced_ones() -> None:
    events = [settled("http://a.test/x", 100), settled("http://a.test/y", 100, again=True)]
    assert verify.refetches([hit("/x", 50), hit("/y", 50), hit("/y", 500)], events) == 0
    assert verify.refetches([hit("/x", 50), hit("/x", 60), hit("/y", 50)], events) == 1


def test_more_refetches_than_fetches_in_flight_are_an_error() -> None:
    assert verify.Findings(refetches=2, in_flight=2).errors() == []
    assert verify.Findings(refetches=3, in_flight=2).errors() == ["3 refetches, and only 2 fetches were in flight"]
