"""What a person sees of a running crawl: a live table on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import sys
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table

from gossamer.clock import Clock
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.visit import Counts

GOOD = {Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED}
WINDOW_S = 10.0


@dataclass(slots=True)
class Tally:
    """Running totals of one crawl, kept from what it tells."""

    clock: Clock
    started: float = 0.0
    pages: int = 0
    facts: int = 0
    size: int = 0
    visits: int = 0
    again: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    troubles: dict[str, str] = field(default_factory=dict)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    queued: int = 0
    hosts: int = 0
    lag_s: float = 0.0
    notice: str = ""
    last_url: str = ""

    def __post_init__(self) -> None:
        self.started = self.clock.elapsed_s()

    def settled(self, facts: dict[str, object]) -> None:
        self.visits += 1
        reason = str(facts["outcome"])
        self.reasons[reason] += 1
        self.size += int(str(facts["size"]))
        self.facts += int(str(facts["facts"]))
        self.again += bool(facts["again"])
        self.last_url = str(facts["url"])
        if facts["kind"] == "page" and reason == Reason.FETCHED:
            self.pages += 1
            self.recent.append(self.clock.elapsed_s())
        self.notice = ""

    def counted(self, counts: Counts, lag_s: float) -> None:
        self.queued, self.hosts, self.lag_s = counts.queued, counts.hosts, lag_s

    @property
    def errors(self) -> int:
        return sum(n for reason, n in self.reasons.items() if reason not in GOOD and Reason(reason) not in REFUSALS)

    @property
    def refused(self) -> int:
        return sum(n for reason, n in self.reasons.items() if Reason(reason) in REFUSALS)

    def rate(self) -> float:
        """Pages a second over the last ten seconds."""
        now = self.clock.elapsed_s()
        while self.recent and now - self.recent[0] > WINDOW_S:
            self.recent.popleft()
        return len(self.recent) / max(0.5, min(WINDOW_S, now - self.started))

    def elapsed_s(self) -> float:
        return self.clock.elapsed_s() - self.started


REFUSALS = {Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.SCOPE, Reason.ADDRESS, Reason.CONTACT, Reason.MEDIA_TYPE}
NOTICES = {
    "disk.low": "the disk is nearly full: the crawl waits for room and goes on by itself",
    "disk.full": "the disk is full: the crawl waits for room and goes on by itself",
    "views.restarted": "the indexer had to be started again",
    "crawl.paused": "paused",
}


class Face(Protocol):
    """How progress is shown. Real ones: `LiveTable`, `PlainLines`, `JsonLines`."""

    def heard(self, event: str, facts: dict[str, object]) -> None: ...

    def beat(self) -> None:
        """Called about once a second."""
        ...

    def close(self) -> None: ...


class LiveTable:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
        self._live.start()

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if notice := NOTICES.get(event):
            self._tally.notice = notice

    def beat(self) -> None:
        self._live.update(_live_table(self._tally))

    def close(self) -> None:
        self._live.stop()


def _live_table(tally: Tally) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{tally.pages:,}", f"pages  ({tally.rate():.1f} a second)")
    table.add_row(f"{tally.facts:,}", "facts found")
    table.add_row(f"{tally.queued:,}", f"addresses waiting on {tally.hosts:,} hosts")
    table.add_row(f"{tally.errors:,}", f"errors, {tally.refused:,} refused by rules, {tally.again:,} to be tried again")
    table.add_row(f"{decimal(tally.size)}", f"kept; search is {tally.lag_s:.1f} s behind")
    table.add_row("", (tally.notice or tally.last_url)[:100], style="dim")
    return table


class PlainLines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, tally: Tally, out: TextIO, every_s: float = 5.0) -> None:
        self._tally, self._out, self._every_s = tally, out, every_s
        self._last = tally.elapsed_s()

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if (notice := NOTICES.get(event)) and notice != self._tally.notice:
            self._tally.notice = notice
            print(notice, file=self._out, flush=True)

    def beat(self) -> None:
        if self._tally.elapsed_s() - self._last >= self._every_s:
            self._last = self._tally.elapsed_s()
            print(_line(self._tally), file=self._out, flush=True)

    def close(self) -> None:
        pass


def _line(tally: Tally) -> str:
    return (
        f"{tally.elapsed_s():6.0f} s  {tally.pages:,} pages  {tally.rate():.1f}/s  {tally.queued:,} waiting  "
        f"{tally.facts:,} facts  {tally.errors:,} errors  search {tally.lag_s:.1f} s behind"
    )


class JsonLines:
    """Every event of the crawl as one JSON object a line; `visit.settled` is written after it is safely on disk."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if event in JSON_EVENTS:
            print(json.dumps({"event": event, **facts}, default=str), file=self._out, flush=True)

    def beat(self) -> None:
        pass

    def close(self) -> None:
        pass


JSON_EVENTS = {"visit.settled", "disk.low", "disk.full", "reader.lost", "views.restarted", "crawl.ended"}


def face_for(tally: Tally, as_json: bool) -> Face:
    if as_json:
        return JsonLines(sys.stdout)
    return LiveTable(tally) if sys.stderr.isatty() else PlainLines(tally, sys.stderr)


def summary(tally: Tally, ended: str, directory: str) -> Table:
    """The table at the end: what was found, what went wrong and why, what to do next."""
    seconds = max(0.001, tally.elapsed_s())
    table = Table(title=f"{ended} after {seconds:.1f} s", title_justify="left", show_header=False, box=None)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{tally.pages:,}", f"pages fetched, {tally.pages / seconds:.1f} a second, {decimal(tally.size)}")
    table.add_row(f"{tally.facts:,}", "facts found in them")
    for reason, number in tally.reasons.most_common():
        if reason != Reason.FETCHED:
            table.add_row(f"{number:,}", f"{reason}: {IN_WORDS[Reason(reason)]}", style="dim")
    if tally.queued:
        table.add_row(f"{tally.queued:,}", "addresses still waiting: the same command goes on from here")
    table.add_row("", f"search it:  gossamer search WORDS --dir {directory}   or   gossamer serve --dir {directory}")
    return table
