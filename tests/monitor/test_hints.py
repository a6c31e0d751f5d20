"""What is wrong, and how to mend it."""

from typing import Any

import pytest

from gossamer.monitor.hints import MIB, QUESTIONS, Standing, Survey, hints
from gossamer.monitor.system import Beaten
from gossamer.monitor.vitals import Figures


def one(name: str, life: Any = "fresh", says: str = "", pid: int | None = 1, **figures: float) -> Beaten:
    return Beaten(name, "a", pid, life, says, 0, 0.0, 60.0, "1.0", figures)


def node(**figures: float) -> Beaten:
    return one("a", pid=None, **figures)


CRAWLER = one("crawler")
FINE: Figures = {"disk_total": 1e12, "disk_free": 5e11, "memory_total": 1e10, "memory_free": 5e9}
CASES: dict[str, tuple[str, Standing]] = {
    "full disk": ("disk-low trouble", Standing([CRAWLER], [node(disk_total=1e12, disk_free=100 * MIB)])),
    "nearly full disk": ("disk-low warning", Standing([CRAWLER], [node(disk_total=1e12, disk_free=900 * MIB)])),
    "dead indexer": ("indexer-silent trouble", Standing([CRAWLER, one("indexer", "silent")])),
    "dead crawler": ("crawler-silent trouble", Standing([one("crawler", "silent"), one("indexer", "silent")])),
    "growing lag": ("lag-grows warning", Standing([one("crawler", words_lag_s=40.0)], lag_before_s=5.0)),
    "no contact": ("contact-missing advice", Standing([], has_contact=False)),
    "no contact, and refused": ("contact-missing trouble", Standing([CRAWLER], outcomes={"contact": 3})),
    "refused": ("hosts-refuse warning", Standing([CRAWLER], outcomes={"client-error": 25, "slow-down": 5})),
    "robots.txt": ("robots-unread warning", Standing([CRAWLER], outcomes={"robots-unreachable": 5})),
    "some names": ("names-fail warning", Standing([CRAWLER], outcomes={"dns": 12, "fetched": 90})),
    "no resolver": ("names-fail trouble", Standing([CRAWLER], outcomes={"dns": 12, "fetched": 9})),
    "open network": ("barrier-missing warning", Standing([one("web", barriers_missing=3.0)])),
    "no namespace": ("barrier-missing advice", Standing([one("crawler", barriers_missing=1.0)])),
    "readers": ("readers-lost warning", Standing([CRAWLER], outcomes={"read-crash": 4, "read-memory": 2})),
    "politeness": (
        "politeness-waits advice",
        Standing([CRAWLER], survey=Survey(waiting_hosts=2, fullest_queued=500, queued=900, mean_gap_s=1)),
    ),
    "one host": (
        "one-host advice",
        Standing([], survey=Survey(waiting_hosts=80, fullest="a.test", fullest_queued=950, queued=1_000, mean_gap_s=1)),
    ),
    "traps": ("traps-held advice", Standing([CRAWLER], counters={"quarantined": 12})),
    "hosts down": ("hosts-down warning", Standing([CRAWLER], survey=Survey(waiting_hosts=10, failing_hosts=6))),
    "paused": ("paused advice", Standing([one("crawler", says="paused")])),
    "memory": ("memory-low warning", Standing([CRAWLER], [node(memory_total=1e10, memory_free=2e8)])),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_trouble_is_named_with_a_way_to_mend_it(case: str) -> None:
    expected, standing = CASES[case]
    [hint] = hints(standing)
    assert f"{hint.code} {hint.severity}" == expected
    assert hint.words.endswith(".") and hint.mend.endswith(".") and len(hint.words) < 250
    assert hint.link == "" or hint.link.startswith("/")


def test_every_question_is_put_by_some_case() -> None:
    spoken = [question for question in QUESTIONS if any(question(at) for _, at in CASES.values())]
    assert spoken == list(QUESTIONS)


def test_a_crawl_that_is_well_gets_no_hints() -> None:
    survey = Survey(waiting_hosts=400, ready_hosts=100, fullest="a.test", fullest_queued=90, queued=9_000, mean_gap_s=1)
    outcomes = {"fetched": 900, "client-error": 10, "dns": 3, "gone": 20, "read-timeout": 2}
    processes = [one("crawler", words_lag_s=2.0), one("indexer"), one("web", "ended")]
    assert hints(Standing(processes, [node(**FINE)], outcomes, {"quarantined": 0}, survey)) == ()
    assert hints(Standing([])) == ()


def test_lag_that_shrinks_is_no_trouble_and_a_silent_crawler_has_none() -> None:
    assert hints(Standing([one("crawler", words_lag_s=40.0)], lag_before_s=60.0)) == ()
    assert [hint.code for hint in hints(Standing([one("crawler", "silent", words_lag_s=40.0)]))] == ["crawler-silent"]


def test_the_gravest_comes_first() -> None:
    at = Standing(
        [one("crawler", says="paused"), one("indexer", "silent")],
        [node(disk_total=1e12, disk_free=900 * MIB)],
        {"robots-unreachable": 1},
        {"quarantined": 1},
    )
    assert [hint.severity for hint in hints(at)] == ["trouble", "warning", "warning", "advice", "advice"]
