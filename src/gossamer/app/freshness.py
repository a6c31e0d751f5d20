"""`gossamer freshness`: how fresh the collection is, as far as visits have taught, and how fresh it could be."""

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from gossamer.app.directory import DEFAULT, Directory, existing
from gossamer.app.outside import real_outside
from gossamer.app.saying import as_json
from gossamer.clock import SECOND, Instant, in_words
from gossamer.frontier.pasts import every_past
from gossamer.recrawl.measuring import Copy, Freshness, measured, prior_from
from gossamer.store.database import read_only
from gossamer.values.history import DAY_S
from gossamer.values.past import Past

DAY = DAY_S * SECOND
NOTHING = 1


class Site(msgspec.Struct, frozen=True):
    site: str
    freshness: Freshness
    gone: int


class Standing(msgspec.Struct, frozen=True):
    at: str
    all: Freshness | None
    gone: int
    """Pages that are gone, and still looked for now and then."""
    overdue: int
    """Pages whose visit should have been."""
    sites: list[Site]
    """The oldest copies first."""


def freshness(
    *,
    limit: Annotated[int, Parameter(help="Show so many sites; 0: all.")] = 20,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON, every site.")] = False,
) -> int:
    standing = standing_of(existing(dir), real_outside().clock.now())
    print(as_json(standing)) if json else show(standing, limit, Console())
    return 0 if standing.all is not None else NOTHING


def standing_of(directory: Directory, now: Instant) -> Standing:
    copies: dict[str, list[Copy]] = defaultdict(list)
    gone: dict[str, int] = defaultdict(int)
    overdue = 0
    for site, past in every_past(lambda: read_only(directory.state)):
        if past.gone:
            gone[site] += 1
        elif past.is_page:
            copies[site].append(copy_of(past, now))
            overdue += past.due_at < now
    every = [copy for some in copies.values() for copy in some]
    prior = prior_from(every)
    sites = [Site(site, found, gone[site]) for site, some in copies.items() if (found := measured(some, prior))]
    sites.sort(key=lambda one: -one.freshness.average_age_days * one.freshness.pages)
    return Standing(in_words(now), measured(every, prior), sum(gone.values()), overdue, sites)


def copy_of(past: Past, now: Instant) -> Copy:
    return Copy(past.known, (now - past.visited_at) / DAY, (past.due_at - past.visited_at) / DAY)


def show(standing: Standing, limit: int, console: Console) -> None:
    if standing.all is None:
        console.print("no page comes again here: gossamer crawl --forever comes back to pages", highlight=False)
        return
    table = Table(title="Average age of the copies in days, and the share of them that is fresh", title_justify="left")
    table.add_column("site", overflow="ellipsis", no_wrap=True)
    for name in ("pages", "a day", "now", "planned", "possible", "gone"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = standing.sites if limit == 0 else standing.sites[:limit]
    for one in shown:
        table.add_row(one.site, *cells(one.freshness), f"{one.gone:,}")
    table.add_section()
    table.add_row("all", *cells(standing.all), f"{standing.gone:,}")
    console.print(table)
    if len(shown) < len(standing.sites):
        console.print(f"{len(standing.sites) - len(shown):,} more sites: --limit 0", highlight=False)
    if standing.overdue:
        console.print(f"{standing.overdue:,} pages wait for a visit that is due", highlight=False)


def cells(found: Freshness) -> tuple[str, ...]:
    return (
        f"{found.pages:,}",
        f"{found.visits_a_day:,.1f}",
        f"{found.average_age_days:.2f} {found.freshness:4.0%}",
        f"{found.planned_age_days:.2f} {found.planned_freshness:4.0%}",
        f"{found.possible_age_days:.2f} {found.possible_freshness:4.0%}",
    )
