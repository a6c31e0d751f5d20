"""Hints: what is wrong, and how to repair it."""

from typing import Any

import pytest

from gossamer.archive.directories import ArchiveStatus, DiskStatus
from gossamer.monitor.control import Figures, ProcessStatus
from gossamer.monitor.hints import MIB, QUESTIONS, HostSums, Overview, hints


def one(name: str, life: Any = "fresh", says: str = "", pid: int | None = 1, **figures: float) -> ProcessStatus:
    return ProcessStatus(name, "a", pid, life, says, 0, 0.0, 60.0, "1.0", figures)


def node(**figures: float) -> ProcessStatus:
    return one("a", pid=None, **figures)


def disks(*free_mib: int, state: str = "there", **more: Any) -> Overview:
    found = tuple(DiskStatus(f"/disk{number}", "there", True, 3, mib * MIB) for number, mib in enumerate(free_mib))
    away = DiskStatus("/disk9", state, more.pop("is_used", True), 3, 900 * MIB)
    return Overview([], archive=ArchiveStatus((*found, away), 2, 100 * MIB, **more))


CRAWLER = one("crawler")
FINE: Figures = {"disk_total": 1e12, "disk_free": 5e11, "memory_total": 1e10, "memory_free": 5e9}
CASES: dict[str, tuple[str, Overview]] = {
    "full disk": ("disk-low trouble", Overview([CRAWLER], [node(disk_total=1e12, disk_free=100 * MIB)])),
    "nearly full disk": ("disk-low warning", Overview([CRAWLER], [node(disk_total=1e12, disk_free=900 * MIB)])),
    "dead indexer": ("indexer-silent trouble", Overview([CRAWLER, one("indexer", "silent")])),
    "dead crawler": ("crawler-silent trouble", Overview([one("crawler", "silent"), one("indexer", "silent")])),
    "growing lag": ("lag-grows warning", Overview([one("crawler", words_lag_s=40.0)], lag_before_s=5.0)),
    "no contact": ("contact-missing advice", Overview([], has_contact=False)),
    "no contact, and refused": ("contact-missing trouble", Overview([CRAWLER], outcomes={"contact": 3})),
    "refused": ("hosts-refuse warning", Overview([CRAWLER], outcomes={"client-error": 25, "slow-down": 5})),
    "robots.txt": ("robots-unread warning", Overview([CRAWLER], outcomes={"robots-unreachable": 5})),
    "some names": ("names-fail warning", Overview([CRAWLER], outcomes={"dns": 12, "fetched": 90})),
    "no resolver": ("names-fail trouble", Overview([CRAWLER], outcomes={"dns": 12, "fetched": 9})),
    "open network": ("barrier-missing warning", Overview([one("web", barriers_missing=3.0)])),
    "no namespace": ("barrier-missing advice", Overview([one("crawler", barriers_missing=1.0)])),
    "readers": ("readers-lost warning", Overview([CRAWLER], outcomes={"read-crash": 4, "read-memory": 2})),
    "politeness": (
        "politeness-waits advice",
        Overview([CRAWLER], survey=HostSums(waiting_hosts=2, fullest_queued=500, queued=900, mean_gap_s=1)),
    ),
    "one host": (
        "one-host advice",
        Overview([], survey=HostSums(waiting_hosts=80, fullest="a.test", fullest_queued=950, queued=1_000,
                                     mean_gap_s=1)),
    ),
    "traps": ("traps-held advice", Overview([CRAWLER], counters={"quarantined": 12})),
    "hosts down": ("hosts-down warning", Overview([CRAWLER], survey=HostSums(waiting_hosts=10, failing_hosts=6))),
    "paused": ("paused advice", Overview([one("crawler", says="paused")])),
    "a disk away": ("archive-disk-away warning", disks(900, state="away")),
    "every disk away": ("archive-disk-away trouble", disks(state="foreign")),
    "a full disk of the archive": ("archive-disk-low warning", disks(900, 50)),
    "a missing copy": ("copies-missing warning", disks(900, short=(("gossamer-1", 1),))),
    "missing copies": ("copies-missing warning", disks(900, short=(("gossamer-1", 1), ("gossamer-2", 0)))),
    "copies on one disk": ("copies-on-one-disk warning", disks(900, shared=(("/disk0", "/disk9"),))),
    "a directory no longer used": ("archive-disk-unused advice", disks(900, is_used=False)),
    "memory": ("memory-low warning", Overview([CRAWLER], [node(memory_total=1e10, memory_free=2e8)])),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_problem_is_reported_with_a_fix(case: str) -> None:
    expected, overview = CASES[case]
    [hint] = hints(overview)
    assert f"{hint.code} {hint.severity}" == expected
    assert hint.words.endswith(".") and hint.fix.endswith(".") and len(hint.words) < 250
    assert hint.link == "" or hint.link.startswith("/")


def test_every_question_is_covered_by_a_case() -> None:
    covered = [question for question in QUESTIONS if any(question(at) for _, at in CASES.values())]
    assert covered == list(QUESTIONS)


def test_a_healthy_crawl_gets_no_hints() -> None:
    survey = HostSums(
        waiting_hosts=400, ready_hosts=100, fullest="a.test", fullest_queued=90, queued=9_000, mean_gap_s=1
    )
    outcomes = {"fetched": 900, "client-error": 10, "dns": 3, "gone": 20, "read-timeout": 2}
    processes = [one("crawler", words_lag_s=2.0), one("indexer"), one("web", "ended")]
    assert hints(Overview(processes, [node(**FINE)], outcomes, {"quarantined": 0}, survey)) == ()
    assert hints(Overview([])) == ()
    assert hints(Overview([CRAWLER], has_contact=False)) == (), "it may have been given with --config"


def test_a_shrinking_lag_and_the_lag_of_a_silent_crawler_give_no_hint() -> None:
    assert hints(Overview([one("crawler", words_lag_s=40.0)], lag_before_s=60.0)) == ()
    assert [hint.code for hint in hints(Overview([one("crawler", "silent", words_lag_s=40.0)]))] == ["crawler-silent"]


def test_the_most_severe_hint_comes_first() -> None:
    at = Overview(
        [one("crawler", says="paused"), one("indexer", "silent")],
        [node(disk_total=1e12, disk_free=900 * MIB)],
        {"robots-unreachable": 1},
        {"quarantined": 1},
    )
    assert [hint.severity for hint in hints(at)] == ["trouble", "warning", "warning", "advice", "advice"]
