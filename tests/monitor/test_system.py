"""The list of all machines and processes."""

from gossamer.base.clock import SECOND
from gossamer.monitor.control import NODE, Vitals
from gossamer.monitor.system import averages_of, listed, state_of, totals_of

NOW = 1_700_000_000 * SECOND


def vitals(process: str, age_s: float, state: str = "", node: str = "a", pid: int = 1, **figures: float) -> Vitals:
    at = NOW - round(age_s * SECOND)
    return Vitals(node, process, pid, at, at - 60 * SECOND, figures, state, "1.0")


def lives(*every: Vitals) -> dict[str, str]:
    nodes, processes = listed(every, NOW)
    return {one.name: one.life for one in (*nodes, *processes)}


def test_M_A10_a_process_is_late_or_silent_by_the_age_of_its_last_beat() -> None:
    ages = {"fresh": [0.0, 1.9], "late": [2.0, 4.9], "silent": [5.0, 999.0]}
    for life, some in ages.items():
        for age_s in some:
            assert lives(vitals("crawler", age_s)) == {"crawler": life}
    assert lives(vitals("crawler", 999.0, "ended")) == {"crawler": "ended"}
    assert lives(vitals("crawler", -3.0)) == {"crawler": "fresh"}, "the clock was set back"


def test_a_machine_is_silent_only_with_a_process_that_has_not_ended() -> None:
    assert lives(vitals(NODE, 60), vitals("crawler", 60, "ended"), vitals("web", 60, "ended"))["a"] == "ended"
    assert lives(vitals(NODE, 60), vitals("crawler", 60, "ended"), vitals("web", 60))["a"] == "silent"


def test_important_processes_come_first_and_ended_workers_are_left_out() -> None:
    names = ["query worker 1", "reader 10", "reader 2", "reader 3", "web", "crawler", "odd", "indexer"]
    every = [vitals(name, 1, "ended" if name == "reader 3" else "") for name in names]
    _, processes = listed(every, NOW)
    assert [one.name for one in processes] == [
        "crawler", "indexer", "reader 2", "reader 10", "web", "query worker 1", "odd",
    ]  # fmt: skip


def test_M_A10_totals_and_averages_count_running_processes_once() -> None:
    nodes, processes = listed(
        [
            vitals(NODE, 0, node="a", cpu=50, cores=2, memory_total=100, memory_free=60),
            vitals(NODE, 0, node="b", cpu=100, cores=4, memory_total=300, memory_free=100),
            vitals(NODE, 60, node="c", cpu=10, cores=8),
            vitals("lost", 60, node="c"),
            vitals("crawler", 0, pid=1, pages_s=5, queued=10, cpu=30, rss=7, words_lag_s=2),
            vitals("web", 0, pid=1, cpu=30, rss=7),
            vitals("indexer", 0, pid=2, pages_s=4, cpu=20, rss=3, words_lag_s=3, spooled=2),
            vitals("crawler", 0, node="b", pid=1, pages_s=2, queued=5, cpu=10, rss=1),
        ],
        NOW,
    )
    totals = totals_of(nodes, processes)
    assert totals["pages_s"] == 7 and totals["queued"] == 15 and totals["spooled"] == 2
    assert totals["cpu"] == 60 and totals["rss"] == 11 and totals["words_lag_s"] == 3
    assert (totals["nodes"], totals["processes"], totals["cores"], totals["memory_total"]) == (2, 3, 6, 400)
    averages = averages_of(nodes)
    assert averages["cpu"] == 75 and averages["cores"] == 3 and averages["memory_free"] == 80
    assert averages_of([]) == {} and totals_of([], [])["pages_s"] == 0


def test_the_state_of_the_crawl_is_the_state_of_its_crawler() -> None:
    def state(*every: Vitals) -> str:
        return state_of(listed(every, NOW)[1])

    assert state() == state(vitals("indexer", 0)) == state(vitals("crawler", 90, "ended")) == "idle"
    assert state(vitals("crawler", 1)) == "running" and state(vitals("crawler", 3, "paused")) == "paused"
    assert state(vitals("crawler", 9, "paused")) == "interrupted"
