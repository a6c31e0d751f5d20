"""The history of an hour."""

import csv
import io

from gossamer.base.clock import SECOND
from gossamer.monitor.control import FIGURES, NODE, Sample
from gossamer.monitor.system import MOST_POINTS, as_csv, history_of, since, step_for

T = 1_700_000_000


def at(second: int, process: str, node: str = "a", **figures: float) -> Sample:
    return Sample(node, process, (T + second) * SECOND, figures)


def test_the_figures_of_all_processes_are_combined_in_each_step() -> None:
    samples = [
        at(0, NODE, cpu=50, memory_total=10, memory_free=4, disk_free=9),
        at(0, "crawler", pages_s=4, queued=10, words_lag_s=1, rss=3),
        at(0, "crawler", "b", pages_s=2, queued=1, words_lag_s=5, rss=1),
        at(0, "indexer", pages_s=99, rss=2),
        at(1, "crawler", pages_s=8, queued=20, rss=3),
        at(4, "crawler", pages_s=1, queued=0, rss=3),
    ]
    history = history_of(samples, T * SECOND, (T + 5) * SECOND, 2)
    assert history.at == tuple((T + second) * SECOND for second in (0, 2, 4))
    assert history.series["pages_s"] == (7.0, None, 1.0), "means of (4 + 2) and 8; no process ran in the second step"
    assert history.series["queued"] == (15.5, None, 0.0) and history.series["words_lag_s"] == (5.0, None, None)
    assert history.series["cpu"] == (50.0, None, None) and history.series["memory_used"] == (6.0, None, None)
    assert history.series["rss"] == (4.5, None, 3.0)


def test_a_history_without_samples_is_empty() -> None:
    history = history_of([], T * SECOND, (T + 10) * SECOND, 5)
    assert len(history.at) == 3 and all(set(column) == {None} for column in history.series.values())


def test_the_number_of_points_and_the_length_of_a_history_are_limited() -> None:
    for minutes in range(1, 61):
        assert 60 * minutes / step_for(minutes) <= MOST_POINTS
    assert step_for(10) == 1
    assert since(T * SECOND, 60) == since(T * SECOND, 6_000) == (T - 3_600) * SECOND


def test_F_W17_formulas_are_escaped_in_csv() -> None:
    samples = [at(0, "=cmd|' /C calc'!A1", '@evil,"x"\r\n', cpu=1.5), at(1, NODE, cpu=2)]
    rows = list(csv.reader(io.StringIO(b"".join(as_csv(samples)).decode(), newline="")))
    assert rows[0] == ["at", "node", "process", *FIGURES]
    assert rows[1][1:3] == ['\'@evil,"x"\r\n', "'=cmd|' /C calc'!A1"] and rows[2][2] == "(machine)"
    assert rows[1][3 + list(FIGURES).index("cpu")] == "1.5" and rows[1][-1] == ""
