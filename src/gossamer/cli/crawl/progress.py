"""Progress of a running crawl.

A live table on a terminal, plain lines elsewhere, JSON lines for programs.
"""

import json
import sys
from collections.abc import Callable
from typing import Protocol, TextIO

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gossamer.crawler.damage import EVENT as DAMAGE
from gossamer.crawler.damage import damage_in_words
from gossamer.crawler.heartbeat import Tally, trouble_in_words
from gossamer.values.format import counted, fitted, harmless

NOTICES = {
    "disk.low": "the disk is nearly full: the crawl waits for space and continues by itself",
    "disk.full": "the disk is full: the crawl waits for space and continues by itself",
    "disk.away": "a disk of the archive is away: the crawl continues with the others (`gossamer status` names it)",
    "disk.back": "a disk of the archive that was away is back",
    "disks.shared": "directories of the archive are on one file system: copies there do not survive its loss",
    "views.restarted": "the indexer was restarted",
    "database.back": "the database answers again: the crawl continues",
    "storage.back": "the storage of the archive answers again: the crawl continues",
}
FILTER_FAILED = "filter.failed"
REJUDGING = "options.rejudging"
SUSPENDED = ("database.suspended", "storage.suspended")
JSON_EVENTS = {
    "visit.settled",
    FILTER_FAILED,
    "documents.absent",
    "options.changed",
    "disk.low",
    "disk.full",
    "disk.roomy",
    "disk.away",
    "disk.back",
    "disks.shared",
    "reader.lost",
    "views.restarted",
    "volume.damaged",
    *SUSPENDED,
    "database.back",
    "service.lost",
    "service.back",
    "frontier.leases_lost",
    "frontier.inherited",
    "storage.back",
    "crawl.ended",
}
FIRST_LINE_S = 2.0
MOST_TROUBLES = 20


class Face(Protocol):
    """How progress is shown: `LiveTable`, `PlainLines`, `JsonLines`."""

    def heard(self, event: str, facts: dict[str, object]) -> None: ...

    def beat(self) -> None:
        """Called about twice a second."""

    def close(self) -> None: ...


class LiveTable:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._live: Live | None = None

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if words := _warning(event, facts):
            console = self._live.console if self._live is not None else Console(stderr=True)
            console.print(words, highlight=False, markup=False, soft_wrap=True)
        if notice := NOTICES.get(event):
            self._tally.notice = notice

    def beat(self) -> None:
        if self._live is None:
            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        self._live.update(_live_table(self._tally))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()


def _warning(event: str, facts: dict[str, object]) -> str:
    """A warning that is printed at once; empty for most events."""
    if event == DAMAGE:
        words = harmless(damage_in_words(facts))
        return f"the archive is damaged: {words}. The crawl continues; `gossamer verify` says what to do"
    if event in SUSPENDED:
        return harmless(f"the crawl is suspended, and continues by itself: {facts['says']}")
    if event == FILTER_FAILED:
        times = f" ({facts['times']:,} times so far)" if facts["times"] != 1 else ""
        return harmless(
            f"the filter {facts['filter']} failed{times} on {facts['url']}: {facts['trouble']}. URLs it fails on are "
            "neither fetched nor refused; `gossamer retry --reason filter-error` queues them again"
        )
    if event == "documents.absent":
        return (
            "PDF, Outlook files, and those of Word, Excel and PowerPoint 97 are skipped: "
            "`pip install 'gossamer[documents]'` adds their readers; with `documents = false` under [fetch] no "
            "documents are collected, and this hint is not shown"
        )
    if event == "options.changed":
        return (
            f"options have changed since the last crawl; refused URLs checked again: {facts['waiting']:,}, "
            f"excluded URLs now queued: {facts['offered']:,}"
        )
    return (
        f"options have changed; pages whose links were checked again: {facts['pages']:,}" if event == REJUDGING else ""
    )


def _live_table(tally: Tally) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{tally.pages:,}", f"{fitted('pages', tally.pages)}  ({tally.rate():.1f} per second)")
    table.add_row(f"{tally.facts:,}", fitted("facts found in this run", tally.facts))
    table.add_row(
        f"{tally.queued:,}", f"{fitted('URLs waiting', tally.queued)} on {counted(tally.counts.hosts, 'host')}"
    )
    table.add_row(f"{tally.failed:,}", f"failed, {tally.missing:,} missing, {tally.refused:,} refused by rules")
    table.add_row(f"{decimal(tally.size)}", f"kept; index delay {tally.lag_s:.1f} s")
    table.add_row("", Text(harmless(tally.notice or _idle_reason(tally) or tally.last_url[:100])), style="dim")
    return table


def _idle_reason(tally: Tally) -> str:
    """What an idle crawl is waiting for."""
    if tally.rests_s < FIRST_LINE_S:
        return ""
    return tally.waits or f"next fetch in {tally.rests_s:.0f} s"


class PlainLines:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, tally: Tally, out: TextIO, every_s: float = 5.0) -> None:
        self._tally, self._out, self._every_s = tally, out, every_s
        self._next = tally.elapsed_s() + FIRST_LINE_S
        self._printed: set[str] = set()

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if words := _warning(event, facts):
            self._print(words)
        if (notice := NOTICES.get(event)) and notice != self._tally.notice:
            self._tally.notice = notice
            self._print(notice)
        url = str(facts.get("url"))
        if event == "visit.settled" and (trouble := self._tally.troubles.get(url)) and url not in self._printed:
            self._printed.add(url)
            if len(self._printed) <= MOST_TROUBLES:
                self._print(trouble_in_words(url, trouble))

    def beat(self) -> None:
        if self._tally.elapsed_s() >= self._next:
            self._next = self._tally.elapsed_s() + self._every_s
            self._print(_line(self._tally))

    def close(self) -> None:
        pass

    def _print(self, words: str) -> None:
        print(words, file=self._out, flush=True)


def _line(tally: Tally) -> str:
    tail = f"  {reason}" if (reason := _idle_reason(tally)) else ""
    return (
        f"{tally.elapsed_s():6.0f} s  {counted(tally.pages, 'page')}  {tally.rate():.1f}/s  {tally.queued:,} waiting  "
        f"{counted(tally.facts, 'fact')}  {tally.failed:,} failed  index delay {tally.lag_s:.1f} s{tail}"
    )


class JsonLines:
    """Every event of the crawl as one JSON object per line; `visit.settled` is printed after it is on disk.

    When the output is closed (`| head`), `on_closed` is called once.
    """

    def __init__(self, out: TextIO, on_closed: Callable[[], None] = lambda: None) -> None:
        self._out, self._on_closed = out, on_closed
        self.is_gone = False

    def heard(self, event: str, facts: dict[str, object]) -> None:
        if event not in JSON_EVENTS or self.is_gone:
            return
        try:
            print(json.dumps({"event": event, **facts}, default=str), file=self._out, flush=True)
        except BrokenPipeError:
            self.is_gone = True
            self._on_closed()

    def beat(self) -> None:
        pass

    def close(self) -> None:
        pass


def face_for(tally: Tally, as_json: bool, on_closed: Callable[[], None] = lambda: None) -> Face:
    if as_json:
        return JsonLines(sys.stdout, on_closed)
    return LiveTable(tally) if sys.stderr.isatty() else PlainLines(tally, sys.stderr)
