"""`gossamer demo`: a small web that ships with the program, crawled offline, searchable meanwhile."""

import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Annotated

import msgspec
import uvloop
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.base.environment import Network, real_outside
from gossamer.base.errors import ConfigError
from gossamer.base.tasks import background
from gossamer.cli.changing_demo import DAYS, show_changing
from gossamer.cli.crawl import catch_signals, crawl_to_end
from gossamer.cli.progress import face_for
from gossamer.cli.serve import address_of, is_free, link_of, web_server
from gossamer.cli.summary import summary
from gossamer.config.settings import CrawlSettings, PolitenessSettings, RetrySettings, Settings, WebSettings
from gossamer.crawler.tally import Tally
from gossamer.demo.accesslog import Logged
from gossamer.demo.manifest import manifest_of
from gossamer.demo.plan import address_plan
from gossamer.demo.server import DemoServer
from gossamer.demo.verdict import CrawledPage, Verdict, check
from gossamer.demo.web import DemoWeb
from gossamer.frontier.reports import every_end
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.url import Url
from gossamer.views.words.searcher import Searcher

SUGGESTIONS = ("harbour", "type:Recipe", "type:Person", "lang:ja")
MISSED = 4
MOST_HOSTS, MOST_PAGES = 12, 120
"""Of a web that changes: as many as can be come back to once a day, when a day lasts seconds."""


def settings_for(port: int) -> Settings:
    """Quick, because the web is ours: a tenth of a second between visits, not more because this machine is busy, and
    short waits after failures."""
    return Settings(
        contact="https://demo.test/about-the-crawler",
        crawl=CrawlSettings(scope="any"),
        politeness=PolitenessSettings(delay_s=0.1, times_took=1.0, robots_retry_s=1.0, robots_tries=2),
        retry=RetrySettings(base_s=1.0, cap_s=4.0, tries=3),
        web=WebSettings(port=port if is_free(WebSettings().host, port) else 0),
    )


def demo(
    *,
    exit: Annotated[bool, Parameter(help="Check what was found against the web's manifest, and exit.")] = False,
    dir: Annotated[
        Path | None, Parameter(help="Store the collection here; a temporary directory if not given.")
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
    with tempfile.TemporaryDirectory(prefix="gossamer-demo-") as scratch:
        directory = Directory(dir or Path(scratch))
        if changing:
            if not 0.5 <= day <= 86_400 or days < 1:
                raise ConfigError("--day: from 0.5 to 86400 seconds; --days: at least 1")
            web = DemoWeb(seed, min(hosts, MOST_HOSTS), min(pages, MOST_PAGES))
            days_left, is_kept = days if exit else None, dir is not None or not exit
            return uvloop.run(show_changing(web, directory, port, day, days_left, json, is_kept))
        web = DemoWeb(seed, hosts, pages, traps=traps)
        return uvloop.run(show(web, directory, settings_for(port), exit, json, is_kept=dir is not None or not exit))


async def show(
    web: DemoWeb, directory: Directory, settings: Settings, leaves: bool, as_json: bool, is_kept: bool = True
) -> int:
    outside = real_outside()
    console = Console(stderr=True)
    stop = asyncio.Event()
    tally = Tally(outside.clock)
    async with AsyncExitStack() as opened:
        server = await opened.enter_async_context(DemoServer(web, outside.clock))
        plan = address_plan(web, server.port)
        pages = await opened.enter_async_context(web_server(directory, settings, outside, SUGGESTIONS))
        serving = await opened.enter_async_context(background(pages.serve()))
        link = link_of(await address_of(pages, serving), directory, outside)
        console.print(f"search page: [bold]{link}[/bold]  (the crawl continues in the meantime)", soft_wrap=True)
        face = face_for(tally, False)
        catch_signals(stop, face.close)
        seeds = [Url(text) for text in web.seeds]
        ended = await crawl_to_end(directory, settings, seeds, Network(plan, plan), outside, face, tally, stop)
        console.print(summary(tally, ended, str(directory.root) if is_kept else None), highlight=False)
        verdict = judged(web, directory, server.log.hits, settings) if leaves else None
        if verdict is not None:
            report(verdict, as_json, console)
        elif not stop.is_set():
            console.print(f"search page: [bold]{link}[/bold]  (Ctrl-C ends the demo)", soft_wrap=True)
            await stop.wait()
        pages.should_exit = True
        await serving
    return MISSED if verdict is not None and not verdict.passes else 0


def judged(web: DemoWeb, directory: Directory, hits: list[Logged], settings: Settings) -> Verdict:
    """What the crawl found against what there was to find, and the server's log against what was promised."""
    searcher = Searcher(directory.index)
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(read_only(directory.state)) as state:
        found = {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
    return check(manifest_of(web), found, hits, settings.politeness.delay_s)


def report(verdict: Verdict, as_json: bool, console: Console) -> None:
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(verdict)).decode() + "\n")
        return
    table = Table("checked", "found", "of", "verdict", title="Compared with the demo web's manifest")
    rows = [
        ("pages (recall)", verdict.pages_found, verdict.pages_expected, not verdict.missing),
        ("facts", verdict.facts_found, verdict.facts_expected, not verdict.wrong_facts),
        ("disallowed pages fetched", len(verdict.disallowed_fetched), 0, not verdict.disallowed_fetched),
        ("politeness violations", len(verdict.politeness_violations), 0, not verdict.politeness_violations),
    ]
    for trap in verdict.traps:
        says = f"trap: {trap.what} (plus {trap.wasted:,} wasted fetches)"
        rows.append((says, trap.found, trap.real, trap.is_escaped))
    for name, found, of, is_right in rows:
        table.add_row(name, f"{found:,}", f"{of:,}", "right" if is_right else "[red]MISSED[/red]")
    console.print(table)
    for kind in ("missing", "disallowed_fetched", "politeness_violations", "wrong_facts"):
        for one in getattr(verdict, kind)[:10]:
            console.print(f"{kind}: {one}", style="red", highlight=False, markup=False)
