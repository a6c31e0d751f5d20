"""`gossamer freshness`: how fresh the copies are, were and could be.

Estimated from what fetches found.
"""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.base.clock import Instant, from_words
from gossamer.base.environment import Outside
from gossamer.base.errors import GossamerError
from gossamer.cli.flags import Dir
from gossamer.cli.output import console, table
from gossamer.cli.tools.plots import over_time
from gossamer.collection.directory import existing, outside_of
from gossamer.monitor import chronicle
from gossamer.monitor.samples import current_sample
from gossamer.recrawl.freshness import Freshness
from gossamer.store.directory import DEFAULT, Directory
from gossamer.values.format import as_json, counted, harmless

NOTHING = 1
EVERY_SITE = 1_000_000
WIDTH = 60
NEVER = "this collection has no revisits: gossamer crawl --forever revisits pages"


def freshness(
    *,
    limit: Annotated[int, Parameter(help="Number of sites to show, highest total age first; 0: all.")] = 20,
    site: Annotated[str, Parameter(help="Only this site.")] = "",
    plot: Annotated[Path | None, Parameter(help="Write age and freshness over time to this SVG file.")] = None,
    dir: Dir = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON, with every sample of the curve.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    found = report_on(directory, outside, limit or EVERY_SITE, site.strip().lower())
    if plot is not None:
        outside.files.write(plot, over_time(found).encode())
    if json:
        print(as_json(found))
    else:
        show(found, console())
        if plot is not None:
            print(f"The plot is in {plot}.")
    return 0 if found.all is not None else NOTHING


def report_on(directory: Directory, outside: Outside, most_sites: int, site: str = "") -> chronicle.FreshnessReport:
    """Raises GossamerError for a site without samples."""
    now = current_sample(directory, outside, sites=EVERY_SITE if site else most_sites)
    found = chronicle.freshness_report(chronicle.read(outside.files, directory.root), now, outside.dates.now(), site)
    if site and not found.samples:
        raise GossamerError(f"the freshness of {site} is unknown; gossamer freshness lists sites")
    return msgspec.structs.replace(found, sites=found.sites[:most_sites])


def show(found: chronicle.FreshnessReport, out: Console) -> None:
    if found.all is None:
        out.print(NEVER)
        return
    if not found.site:
        out.print(sites_table(found, found.all))
        if more := found.site_count - len(found.sites):
            out.print(f"{counted(more, 'more site')}: --limit 0")
        if found.estimated_from < found.all.pages:
            out.print(f"estimated from {found.estimated_from:,} of them")
        if found.overdue:
            out.print(f"{counted(found.overdue, 'page')} overdue for a revisit")
    for line in curve(found):
        out.print(line, soft_wrap=True)
    if found.hubs and not found.site:
        out.print(f"{counted(found.hubs, 'page')} leading to new ones")
    if found.visits.visits and not found.site:
        out.print("\n" + in_words_of(found.visits, found.since), soft_wrap=True)


def sites_table(found: chronicle.FreshnessReport, whole: Freshness) -> Table:
    title = "Average age of the copies in days, and the share of them that is fresh"
    sites = table("site", ">pages", ">fetches/day", ">age", ">fresh", ">planned", ">possible", ">gone", title=title)
    for one in found.sites:
        ages = (one.age_days, one.planned_age_days, one.possible_age_days)
        row = cells(one.pages, one.visits_a_day, one.freshness, ages)
        sites.add_row(harmless(one.site), *row, f"{one.gone:,}")
    ages = (whole.average_age_days, whole.planned_age_days, whole.possible_age_days)
    sites.add_row("all", *cells(whole.pages, whole.visits_a_day, whole.freshness, ages), f"{found.gone:,}")
    return sites


def cells(pages: int, visits_a_day: float, fresh: float, ages: tuple[float, float, float]) -> tuple[str, ...]:
    now, planned, possible = ages
    return f"{pages:,}", f"{visits_a_day:,.1f}", f"{now:.2f}", f"{fresh:.0%}", f"{planned:.2f}", f"{possible:.2f}"


def curve(found: chronicle.FreshnessReport) -> list[str]:
    """The curve as two lines of blocks, once there is something to compare."""
    instants = [from_words(point.at) for point in found.samples]
    if not chronicle.is_curve(instants):
        return ["", "The curve over time starts with the next sample, taken while a crawl with revisits is running."]
    ages, shares = [one.age_days for one in found.samples], [one.freshness for one in found.samples]
    most, now = chronicle.days_in_words(max(ages)), chronicle.days_in_words(ages[-1])
    of = f" of {harmless(found.site)}" if found.site else ""
    return [
        "",
        f"The last {chronicle.span_in_words(instants[0], instants[-1])}{of}, from left to right:",
        _line("age", instants, ages, f"up to {most}, now {now}"),
        _line("fresh", instants, shares, f"least {min(shares):.0%}, now {shares[-1]:.0%}", 1.0),
    ]


def _line(name: str, instants: list[Instant], values: list[float], says: str, top: float | None = None) -> str:
    return f"  {name:<6}{chronicle.sparkline(chronicle.resampled(instants, values, WIDTH), top)}  {says}"


def in_words_of(visits: chronicle.Visits, since: str) -> str:
    """What revisits found."""
    saved = visits.spared_share or 0.0
    parts = [
        f"Since {since[:16].replace('T', ' ')} UTC: {counted(visits.visits, 'revisit')}",
        f"{visits.changed:,} of them found a change",
        f'{visits.unmodified:,} responses "not modified" and {visits.identical:,} with the same bytes',
        f"{saved:.0%} of the bytes not transferred again",
        f"{counted(visits.appeared, 'page')} appeared, {visits.vanished:,} vanished, {visits.back:,} reappeared",
    ]
    return "; ".join(parts) + "."
