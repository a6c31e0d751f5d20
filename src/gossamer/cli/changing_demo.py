"""`gossamer demo --changing`: a web that changes, and a crawl that comes back to it; its days last seconds."""

import asyncio
import sys
from collections import defaultdict
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from typing import TextIO

import msgspec
from rich.console import Console
from rich.table import Table

from gossamer.base.clock import DAY_S, SECOND, Instant, short_days
from gossamer.base.environment import Network, Outside, real_outside
from gossamer.base.files import Files
from gossamer.base.tasks import background
from gossamer.cli.crawl import catch_signals, crawl_to_end
from gossamer.cli.serve import address_of, is_free, link_of, web_server
from gossamer.cli.summary import summary
from gossamer.collection.calendar import keep
from gossamer.config.settings import CrawlSettings, PolitenessSettings, RetrySettings, Settings, WebSettings
from gossamer.crawler.tally import Tally
from gossamer.demo.accesslog import Logged
from gossamer.demo.changing_verdict import LEAST_SPARED, ChangingVerdict, KeptPages, check_changing, items_with
from gossamer.demo.changing_verdict import PRICED as PRICES
from gossamer.demo.plan import address_plan
from gossamer.demo.server import DemoServer
from gossamer.demo.verdict import SLACK_S
from gossamer.demo.web import DemoWeb
from gossamer.monitor import chronicle
from gossamer.monitor.chronicle import Chronicle, visits_in
from gossamer.monitor.freshness import days_in_words
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.format import counted
from gossamer.values.url import Url
from gossamer.views.facts.store import facts_of, opened
from gossamer.views.words.searcher import Searcher

SUGGESTIONS = ("harbour", "type:Offer", "news")
TURN_DAYS = 2.0
VISITS_A_PAGE = 1.0
DELAY_S = 0.05
"""Between two visits to one host, by the clock on the wall."""
DAYS = 24
"""With --exit."""
BEFORE_DAYS = 365
"""The calendar begins so long ago: the demonstration may go on for as many days before it reaches today."""
MISSED = 4


def changing_settings(port: int, day_s: float, pages: int) -> Settings:
    """Durations are seconds of the calendar, of which a day has as many as ever."""
    delay_s = DELAY_S / day_s * DAY_S
    return Settings(
        contact="https://demo.test/about-the-crawler",
        crawl=CrawlSettings(scope="any", revisit="age", revisit_budget=VISITS_A_PAGE * pages),
        politeness=PolitenessSettings(delay_s=delay_s, times_took=1.0, robots_retry_s=3600.0, apart_s=1.0),
        retry=RetrySettings(base_s=3600.0, cap_s=4 * 3600.0, tries=3),
        web=WebSettings(port=port if is_free(WebSettings().host, port) else 0),
    )


class Days:
    """A face: whenever a sample was taken, how the collection fares, in a line."""

    def __init__(self, directory: Directory, files: Files, out: TextIO) -> None:
        self._directory, self._files, self._out = directory, files, out
        self._is_news = False

    def heard(self, event: str, facts: dict[str, object]) -> None:
        del facts
        self._is_news = self._is_news or event == "chronicle.kept"

    def beat(self) -> None:
        if not self._is_news:
            return
        self._is_news = False
        known = chronicle.read(self._files, self._directory.root)
        if known.samples:
            print(line_of(known), file=self._out, flush=True)

    def close(self) -> None:
        """The last sample is written after the last beat."""
        self.beat()


def line_of(known: Chronicle) -> str:
    now, visits = known.samples[-1], visits_in(known.samples)
    day = (now.at - known.runs[-1].started_at) / SECOND / DAY_S
    found = now.all
    age, least = days_in_words(found.average_age_days), days_in_words(found.possible_age_days)
    return (
        f"day {day:5.1f}  {found.pages:,} pages, {found.freshness:.0%} fresh, age {age}, lowest possible {least}; "
        f"{counted(visits.visits, 'revisit')}, "
        f"{visits.changed:,} of them found a change, {visits.spared_share or 0.0:.0%} of the bytes not sent; "
        f"{visits.vanished} vanished, {visits.appeared} appeared"
    )


async def show_changing(
    web: DemoWeb, directory: Directory, port: int, day_s: float, days: int | None, as_json: bool, is_kept: bool = True
) -> int:
    """`days`: leave after so many, and check; None: stay until somebody stops it. `is_kept`: the directory stays."""
    plain = real_outside()
    web_began_at, goes_on_at = known_dates(directory, plain)
    calendar = short_days(plain.clock, day_s, goes_on_at)
    outside = replace(plain, calendar=calendar)
    keep(calendar, directory, plain)
    web = replace(web, turn_s=TURN_DAYS * DAY_S, started_at=web_began_at)
    settings = changing_settings(port, day_s, web.pages)
    console, stop, tally = Console(stderr=True), asyncio.Event(), Tally(plain.clock)
    async with AsyncExitStack() as opened_here:
        server = await opened_here.enter_async_context(DemoServer(web, calendar))
        plan = address_plan(web, server.port)
        pages = await opened_here.enter_async_context(web_server(directory, settings, outside, SUGGESTIONS))
        serving = await opened_here.enter_async_context(background(pages.serve()))
        link = link_of(await address_of(pages, serving), directory, outside)
        console.print(f"search page: [bold]{link}[/bold]  (freshness: Crawl, Freshness)", soft_wrap=True)
        console.print(f"A day of this web lasts {day_s:g} s. Ctrl-C ends the demo.", highlight=False)
        face = Days(directory, outside.files, sys.stderr)
        catch_signals(stop, face.close)
        ending = asyncio.get_running_loop().call_later(days * day_s, stop.set) if days is not None else None
        seeds, network = [Url(text) for text in web.seeds], Network(plan, plan)
        try:
            ended = await crawl_to_end(directory, settings, seeds, network, outside, face, tally, stop)
        finally:
            if ending is not None:
                ending.cancel()
        console.print(summary(tally, ended, str(directory.root) if is_kept else None), highlight=False)
        verdict = judged(web, directory, server.log.hits, settings, outside, day_s) if days is not None else None
        if verdict is not None:
            report(verdict, as_json, console)
        pages.should_exit = True
        await serving
    return MISSED if verdict is not None and not verdict.passes else 0


def known_dates(directory: Directory, outside: Outside) -> tuple[Instant, Instant]:
    """When this web began, and the date at which its calendar goes on: after the last one in the collection, because a
    page is never replaced by a capture of an older date."""
    began_at = outside.clock.now() - round(BEFORE_DAYS * DAY_S) * SECOND
    if not directory.state.is_file():
        return began_at, began_at
    with closing(read_only(directory.state)) as state:
        fetched = [kept.fetched_at for kept in captures.in_order(state)]
    return (min(fetched), max(fetched) + SECOND) if fetched else (began_at, began_at)


def judged(
    web: DemoWeb, directory: Directory, hits: list[Logged], settings: Settings, outside: Outside, day_s: float
) -> ChangingVerdict:
    """What the collection has against what the server sent. REQUIRES: nobody writes to it any more."""
    del outside
    versions: dict[str, list[int]] = defaultdict(list)
    with closing(read_only(directory.state)) as state:
        for kept in captures.in_order(state):
            if kept.is_page:
                versions[kept.url.text].append(kept.fetched_at)
    searcher = Searcher(directory.index)
    searcher.open()
    shown = {card.url.text for card in searcher.cards()}
    store = opened(directory.graph)
    facts = {url: b"".join(facts_of(store, [Url(url)])) for url, _, _ in items_with(web, PRICES)}
    slack_s = SLACK_S / day_s * DAY_S
    return check_changing(web, hits, KeptPages(versions, shown, facts), settings.politeness.delay_s, slack_s)


def report(verdict: ChangingVerdict, as_json: bool, console: Console) -> None:
    if as_json:
        told = msgspec.to_builtins(verdict) | {"passes": verdict.passes}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(told)).decode() + "\n")
        return
    table = Table("checked", "found", "wrong", "verdict", title="Compared with what the changing web has sent")
    rows = [
        ("advertisements and dates that are not changes", verdict.passed_over, len(verdict.taken_for_changes)),
        ("prices noticed at the first fetch, and in the graph", verdict.prices, len(verdict.prices_missed)),
        ("pages that vanished, and are not searchable", verdict.vanished, len(verdict.still_shown)),
        ("pages that appeared", verdict.appeared, 0),
        ("politeness", verdict.visits, len(verdict.politeness_violations)),
    ]
    for name, found, wrong in rows:
        table.add_row(name, f"{found:,}", f"{wrong:,}", "right" if found and not wrong else "[red]MISSED[/red]")
    is_right = verdict.spared_share >= LEAST_SPARED
    says = "right" if is_right else "[red]MISSED[/red]"
    table.add_row("bytes not transferred again", f"{verdict.spared_share:.0%}", "", says)
    console.print(table)
    for one in (*verdict.taken_for_changes, *verdict.prices_missed):
        console.print(f"{one.url}: {one.says}", style="red", highlight=False, markup=False)
    for url in verdict.still_shown:
        console.print(f"{url}: it is gone, but still searchable", style="red", highlight=False, markup=False)
