"""`gossamer demo`: a small bundled web, crawled offline and searchable meanwhile."""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TextIO

import msgspec
import uvloop
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.base.clock import DAY_S, SECOND, Clock, fast_calendar
from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.files import Files
from gossamer.base.tasks import background
from gossamer.cli.crawl.crawl import catch_signals, crawl_to_end
from gossamer.cli.crawl.progress import face_for
from gossamer.cli.crawl.summary import summary
from gossamer.cli.flags import folder_given
from gossamer.cli.serve import is_free, link_of, server_url, web_server
from gossamer.collection.directory import keep
from gossamer.config.settings import CrawlSettings, PolitenessSettings, RetrySettings, Settings, WebSettings
from gossamer.crawler.heartbeat import Tally
from gossamer.demo.changes import LEAST_SPARED, ChangingVerdict, changing_verdict, known_dates
from gossamer.demo.server import DemoServer, Logged
from gossamer.demo.verdict import Verdict, verdict_of
from gossamer.demo.web import DemoWeb, address_plan
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Chronicle, days_in_words, visits_in
from gossamer.store.directory import Directory
from gossamer.store.state import refuse_on_cluster
from gossamer.values.format import counted
from gossamer.values.url import Url

SUGGESTIONS = ("harbour", "type:Recipe", "type:Person", "lang:ja")
CHANGING_SUGGESTIONS = ("harbour", "type:Offer", "news")
MISSED = 4
MOST_HOSTS, MOST_PAGES = 12, 120
"""Limits of a changing web: what can be revisited once a day when a day lasts seconds."""
TURN_DAYS = 2.0
FETCHES_A_PAGE = 1.0
"""Per day."""
DELAY_S = 0.05
"""Between two fetches from a host, in real time."""
DAYS = 24
"""With --exit."""


def demo(
    *,
    exit: Annotated[bool, Parameter(help="Check what was found against the web's manifest, and exit.")] = False,
    dir: Annotated[
        Path | None,
        Parameter(help="Store the collection here; a temporary directory if not given.", converter=folder_given),
    ] = None,
    hosts: Annotated[int, Parameter(help="Number of ordinary sites.")] = 12,
    pages: Annotated[int, Parameter(help="Number of pages on them.")] = 600,
    traps: Annotated[int, Parameter(help="Real pages on each crawler-trap site; 0: no such sites.")] = 12,
    seed: Annotated[int, Parameter(help="Random seed of the generated web.")] = 1,
    port: Annotated[int, Parameter(help="The port of the search page; 0 for any free one.")] = 8642,
    changing: Annotated[
        bool, Parameter(help="Pages change, vanish and appear, and the crawl keeps revisiting them.")
    ] = False,
    day: Annotated[float, Parameter(help="With --changing: seconds that a day of that web lasts.")] = 4.0,
    days: Annotated[int, Parameter(help="With --changing and --exit: exit after this many days.")] = DAYS,
    json: Annotated[bool, Parameter(help="With --exit: the verdict as JSON.")] = False,
) -> int:
    if dir is not None:
        refuse_on_cluster(Directory(dir), "demo", "name a directory with --dir, or leave it out")
    if changing and (not 0.5 <= day <= 86_400 or days < 1):
        raise ConfigError("--day: from 0.5 to 86400 seconds; --days: at least 1")
    with tempfile.TemporaryDirectory(prefix="gossamer-demo-") as scratch:
        directory = Directory(dir or Path(scratch))
        if changing:
            web = DemoWeb(seed, min(hosts, MOST_HOSTS), min(pages, MOST_PAGES))
            setup = changing_setup(web, directory, port, day, days if exit else None)
        else:
            setup = steady_setup(DemoWeb(seed, hosts, pages, traps=traps), directory, port)
        return uvloop.run(show(setup, directory, exit, json, is_kept=dir is not None))


@dataclass(frozen=True, slots=True)
class DemoSetup:
    """The differences between a changing web and one that does not change."""

    web: DemoWeb
    settings: Settings
    outside: Outside
    dates: Clock
    """The clock of the demonstration web."""
    suggestions: tuple[str, ...]
    notes: tuple[str, str]
    """Printed after the link and below it."""
    verdict: Callable[[Sequence[Logged]], Verdict | ChangingVerdict]
    """REQUIRES: no process writes to the collection."""
    is_changing: bool = False
    lasts_s: float | None = None
    """Stop after this many seconds."""


def steady_setup(web: DemoWeb, directory: Directory, port: int) -> DemoSetup:
    outside, settings = real_outside(), settings_for(port)
    notes = ("(the crawl continues meanwhile)", "")

    def verdict(hits: Sequence[Logged]) -> Verdict:
        return verdict_of(web, directory, hits, settings.politeness.delay_s)

    return DemoSetup(web, settings, outside, outside.clock, SUGGESTIONS, notes, verdict)


def changing_setup(web: DemoWeb, directory: Directory, port: int, day_s: float, days: int | None) -> DemoSetup:
    """`days`: stop after this many; None: when the user stops it."""
    outside = real_outside()
    web_began_at, resumes_at = known_dates(directory, outside)
    calendar = fast_calendar(outside.clock, day_s, resumes_at)
    keep(calendar, directory, outside)
    web = replace(web, turn_s=TURN_DAYS * DAY_S, started_at=web_began_at)
    settings = changing_settings(port, day_s, web.pages)
    notes = (
        "(how fresh the copies are: Crawl, then Freshness)",
        f"A day of this web lasts {day_s:g} s. Ctrl-C ends the demo.",
    )

    def verdict(hits: Sequence[Logged]) -> ChangingVerdict:
        return changing_verdict(web, directory, hits, settings.politeness.delay_s, day_s)

    return DemoSetup(
        web=web,
        settings=settings,
        outside=replace(outside, calendar=calendar),
        dates=calendar,
        suggestions=CHANGING_SUGGESTIONS,
        notes=notes,
        verdict=verdict,
        is_changing=True,
        lasts_s=None if days is None else days * day_s,
    )


def settings_for(port: int) -> Settings:
    """Fast, because the web is our own: a tenth of a second between fetches even on a busy machine, and short waits
    after failures."""
    return Settings(
        contact="https://demo.test/about-the-crawler",
        crawl=CrawlSettings(scope="any"),
        politeness=PolitenessSettings(delay_s=0.1, times_took=1.0, robots_retry_s=1.0, robots_tries=2),
        retry=RetrySettings(base_s=1.0, cap_s=4.0, tries=3),
        web=WebSettings(port=port if is_free(WebSettings().host, port) else 0),
    )


def changing_settings(port: int, day_s: float, pages: int) -> Settings:
    """Durations are seconds of the fast calendar, whose days have 86,400 seconds."""
    return replace(
        settings_for(port),
        crawl=CrawlSettings(scope="any", revisit="age", revisit_budget=FETCHES_A_PAGE * pages),
        politeness=PolitenessSettings(
            delay_s=DELAY_S / day_s * DAY_S, times_took=1.0, robots_retry_s=3600.0, apart_s=1.0
        ),
        retry=RetrySettings(base_s=3600.0, cap_s=4 * 3600.0, tries=3),
    )


async def show(setup: DemoSetup, directory: Directory, leaves: bool, as_json: bool, is_kept: bool) -> int:
    """`leaves`: check and return when the crawl has ended. `is_kept`: the directory is not deleted."""
    outside, console, stop, verdict = setup.outside, Console(stderr=True), asyncio.Event(), None
    tally = Tally(outside.clock)
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(DemoServer(setup.web, setup.dates))
        plan = address_plan(setup.web, server.port)
        pages = await opened.enter_async_context(web_server(directory, setup.settings, outside, setup.suggestions))
        serving = await opened.enter_async_context(background(pages.serve()))
        link = f"search page: [bold]{link_of(await server_url(pages, serving), directory, outside)}[/bold]"
        console.print(f"{link}  {setup.notes[0]}", soft_wrap=True)
        if setup.notes[1]:
            console.print(setup.notes[1], highlight=False)
        face = Days(directory, outside.files, sys.stderr) if setup.is_changing else face_for(tally, False)
        catch_signals(stop, face.close)
        ending = None
        if setup.lasts_s is not None:
            ending = asyncio.get_running_loop().call_later(setup.lasts_s, stop.set)
        seeds, network = [Url(text) for text in setup.web.seeds], Network(plan, plan)
        try:
            ended = await crawl_to_end(directory, setup.settings, seeds, network, outside, face, tally, stop)
        finally:
            if ending is not None:
                ending.cancel()
        lives = is_kept or not (leaves or stop.is_set())
        console.print(summary(tally, ended, str(directory.root) if lives else None), highlight=False)
        if leaves:
            verdict = setup.verdict(server.log.hits)
            report(verdict, as_json, console)
        elif not stop.is_set():
            ends = "ends the demo" if is_kept else "ends the demo and deletes its collection; --dir DIR keeps it"
            console.print(f"{link}  (Ctrl-C {ends})", soft_wrap=True)
            await stop.wait()
        pages.should_exit = True
        await serving
    return MISSED if verdict is not None and not verdict.passes else 0


class Days:
    """Progress on a changing web: a line on the collection's freshness for each sample."""

    def __init__(self, directory: Directory, files: Files, out: TextIO) -> None:
        self._directory, self._files, self._out = directory, files, out
        self._has_sample = False

    def heard(self, event: str, facts: dict[str, object]) -> None:
        del facts
        self._has_sample = self._has_sample or event == "chronicle.kept"

    def beat(self) -> None:
        if not self._has_sample:
            return
        self._has_sample = False
        known = chronicle.read(self._files, self._directory.root)
        if known.samples:
            print(line_of(known), file=self._out, flush=True)

    def close(self) -> None:
        """The last sample is written after the last beat."""
        self.beat()


def line_of(known: Chronicle) -> str:
    now, visits = known.samples[-1], visits_in(known.samples)
    day = (now.at - known.runs[-1].started_at) / SECOND / DAY_S
    found, spared = now.all, visits.spared_share or 0.0
    age, least = days_in_words(found.average_age_days), days_in_words(found.possible_age_days)
    return (
        f"day {day:5.1f}  {counted(found.pages, 'page')}, {found.freshness:.0%} fresh, age {age}, "
        f"lowest possible {least}; {counted(visits.visits, 'revisit')}, {visits.changed:,} of them found a change, "
        f"{spared:.0%} of the bytes not sent; {visits.vanished} vanished, {visits.appeared} appeared"
    )


def report(verdict: Verdict | ChangingVerdict, as_json: bool, console: Console) -> None:
    if as_json:
        said = msgspec.to_builtins(verdict) | {"passes": verdict.passes}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(said)).decode() + "\n")
        return
    is_changing = isinstance(verdict, ChangingVerdict)
    title = "Compared with what the changing web sent" if is_changing else "Compared with the demo web's manifest"
    table = Table("checked", "found", "wrong" if is_changing else "of", "verdict", title=title)
    for name, found, of, is_right in changing_rows(verdict) if isinstance(verdict, ChangingVerdict) else rows(verdict):
        table.add_row(name, found, of, "correct" if is_right else "[red]MISSED[/red]")
    console.print(table)
    for line in complaints(verdict):
        console.print(line, style="red", highlight=False, markup=False)


Row = tuple[str, str, str, bool]


def rows(verdict: Verdict) -> list[Row]:
    counted_rows = [
        ("pages (recall)", verdict.pages_found, verdict.pages_expected, not verdict.missing),
        ("facts", verdict.facts_found, verdict.facts_expected, not verdict.wrong_facts),
        ("disallowed pages fetched", len(verdict.disallowed_fetched), 0, not verdict.disallowed_fetched),
        ("politeness violations", len(verdict.politeness_violations), 0, not verdict.politeness_violations),
    ]
    for trap in verdict.traps:
        says = f"trap: {trap.what} (plus {counted(trap.wasted, 'wasted fetch')})"
        counted_rows.append((says, trap.found, trap.real, trap.is_escaped))
    return [(name, f"{found:,}", f"{of:,}", is_right) for name, found, of, is_right in counted_rows]


def changing_rows(verdict: ChangingVerdict) -> list[Row]:
    checks = (
        ("advertisements and dates that are not changes", verdict.passed_over, len(verdict.taken_for_changes)),
        ("prices noticed at the first fetch, and in the graph", verdict.prices, len(verdict.prices_missed)),
        ("pages that vanished, and are not searchable", verdict.vanished, len(verdict.still_shown)),
        ("pages that appeared", verdict.appeared, 0),
        ("politeness", verdict.visits, len(verdict.politeness_violations)),
    )
    spared = ("bytes not transferred again", f"{verdict.spared_share:.0%}", "", verdict.spared_share >= LEAST_SPARED)
    return [*((name, f"{found:,}", f"{wrong:,}", bool(found) and not wrong) for name, found, wrong in checks), spared]


def complaints(verdict: Verdict | ChangingVerdict) -> list[str]:
    if isinstance(verdict, ChangingVerdict):
        lines = [f"{one.url}: {one.says}" for one in (*verdict.taken_for_changes, *verdict.prices_missed)]
        return lines + [f"{url}: it is gone, but still searchable" for url in verdict.still_shown]
    kinds = ("missing", "disallowed_fetched", "politeness_violations", "wrong_facts")
    return [f"{kind}: {one}" for kind in kinds for one in getattr(verdict, kind)[:10]]
