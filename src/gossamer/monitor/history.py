"""The past hour, put together: what all processes came to, step by step or minute by minute."""

import csv
import io
from collections.abc import Iterator, Sequence

import msgspec

from gossamer.base.clock import SECOND, Instant, in_words
from gossamer.monitor.vitals import FIGURES, HOUR_S, NODE, Figures, Sample
from gossamer.values.format import csv_safe

MOST_POINTS = 720
SERIES = (
    "pages_s", "bytes_s", "errors_min", "queued", "in_flight", "words_lag_s", "facts_lag_s", "cpu", "rss",
    "memory_used", "disk_free",
)  # fmt: skip
SUMS = ("pages_s", "bytes_s", "errors_min", "queued", "in_flight", "memory_used", "disk_free", "rss")
"""Over processes or machines; of the others the largest counts."""


class HourHistory(msgspec.Struct, frozen=True):
    """Columns of equal length. A figure that nobody spoke of in a step is null: nothing ran then."""

    step_s: int
    at: tuple[Instant, ...]
    """When each step begins."""
    series: dict[str, tuple[float | None, ...]]


def step_for(minutes: int) -> int:
    """Seconds a point stands for, so that there are not too many."""
    return max(1, -(-minutes * 60 // MOST_POINTS))


def history_of(samples: Sequence[Sample], since_at: Instant, until_at: Instant, step_s: int) -> HourHistory:
    """REQUIRES: step_s >= 1. Means over each step of what all came to in each second of it."""
    first, last = since_at // (step_s * SECOND), until_at // (step_s * SECOND)
    steps = list(range(first, last + 1))
    summed: dict[int, dict[str, list[float]]] = {}
    for second, figures in by_second(samples):
        into = summed.setdefault(second // step_s, {})
        for name, value in figures.items():
            into.setdefault(name, []).append(value)
    series = {name: tuple(mean(summed.get(step, {}).get(name)) for step in steps) for name in SERIES}
    return HourHistory(step_s, tuple(step * step_s * SECOND for step in steps), series)


def by_second(samples: Sequence[Sample]) -> Iterator[tuple[int, Figures]]:
    """What all came to in each second. REQUIRES: oldest first."""
    now = -1
    figures: Figures = {}
    for sample in samples:
        if (second := sample.at // SECOND) != now:
            if figures:
                yield now, figures
            now, figures = second, {}
        for name, value in shown_of(sample).items():
            known = figures.get(name)
            figures[name] = value if known is None else known + value if name in SUMS else max(known, value)
    if figures:
        yield now, figures


def shown_of(sample: Sample) -> Figures:
    """The part of a process or machine in the whole: pages are the crawler's, the CPU is the machine's."""
    figures = sample.figures
    if sample.process == NODE:
        used = figures.get("memory_total", 0) - figures.get("memory_free", 0)
        return {"cpu": figures.get("cpu", 0), "memory_used": used, "disk_free": figures.get("disk_free", 0)}
    wanted = SERIES if sample.process == "crawler" else ("rss",)
    return {name: figures[name] for name in wanted if name in figures and name != "cpu"}


def mean(values: Sequence[float] | None) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def as_csv(samples: Sequence[Sample]) -> Iterator[str]:
    """Every second of every process and machine, with a line of names first."""
    names = list(FIGURES)
    yield _line(["at", "node", "process", *names])
    for sample in samples:
        figures = ["" if (value := sample.figures.get(name)) is None else f"{value:g}" for name in names]
        yield _line([in_words(sample.at), csv_safe(sample.node), csv_safe(sample.process or "(machine)"), *figures])


def _line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue()


def since(now: Instant, minutes: int) -> Instant:
    return now - min(minutes * 60, HOUR_S) * SECOND
