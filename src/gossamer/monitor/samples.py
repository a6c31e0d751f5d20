"""How a collection stands at a moment: its pages' ages, estimated, and what visits found since the last look.

It only reads, through any connection to the state. Where there are very many pages a part of them is looked at, chosen
by their ids, which are hashes: a look takes a second or so of computing however large the collection is.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.monitor.chronicle import SITES_NOW, FreshnessSample, SiteSample, Visits
from gossamer.recrawl.freshness import Freshness, HeldCopy, Sums, first_days, in_short, prior_from, summed, together
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded

DAY = DAY_S * SECOND
ENOUGH = 10_000
"""Pages that are looked at, about."""
LEADS = 0.5
"""New pages that a page's visits led to of late, from which it counts as a hub."""
AT_ONCE = 1_000
OVERLAP: Instant = 3600 * SECOND
"""What was fetched so long before the last sample may not have been settled by then."""
_LOWEST = -(1 << 63)
_SQL = load("gossamer.monitor", "samples.sql")
Connect = Callable[[], State]


class _Site(msgspec.Struct):
    copies: list[HeldCopy] = []
    gone: int = 0
    overdue: int = 0
    hubs: int = 0


def sampled(
    connect: Connect, now: Instant, visits: Visits, enough: int = ENOUGH, most_sites: int = SITES_NOW
) -> FreshnessSample | None:
    """None where no page comes again. `most_sites`: so many are told of; what as many visits could lead to takes
    longer to work out for each than the rest."""
    step = step_for(connect, enough)
    sites: dict[str, _Site] = defaultdict(_Site)
    for name, past in pasts(connect, step):
        site = sites[name]
        if past.gone:
            site.gone += step
        elif past.is_page:
            site.copies.append(copy_of(past, now))
            site.overdue += step * (past.due_at < now)
            site.hubs += step * (past.new_pages >= LEADS)
    every = [copy for site in sites.values() for copy in site.copies]
    if not every:
        return None
    prior, first = prior_from(every), first_days(every)
    sums = {name: summed(site.copies, prior, first) for name, site in sites.items() if site.copies}
    whole = in_short(together(list(sums.values())))
    assert whole is not None, "there is a page"
    worst = sorted(sums, key=lambda name: -sums[name].age)[:most_sites]
    return FreshnessSample(
        at=now,
        all=grown(whole, step),
        gone=sum(site.gone for site in sites.values()),
        overdue=sum(site.overdue for site in sites.values()),
        hubs=sum(site.hubs for site in sites.values()),
        estimated_from=len(every),
        visits=visits,
        sites=tuple([site_sample(name, sums[name], sites[name], step) for name in worst]),
        site_count=len(sums),
    )


def step_for(connect: Connect, enough: int) -> int:
    """One page of so many is looked at: a power of two."""
    with closing(connect()) as connection:
        (amount,) = connection.execute(_SQL["amount"]).fetchone()
    step = 1
    while amount > enough * step:
        step *= 2
    return step


def pasts(connect: Connect, step: int) -> Iterator[tuple[str, Past]]:
    """With the name of its host. The connection is closed after each group: it keeps nobody from tidying up."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_pasts"], (*last, step - 1, AT_ONCE)).fetchall()
        for host_id, number, name, kept in rows:
            last = (host_id, number)
            if (past := decoded(kept)) is not None:
                yield name, past
        is_more = len(rows) == AT_ONCE


def copy_of(past: Past, now: Instant) -> HeldCopy:
    return HeldCopy(past.known, (now - past.visited_at) / DAY, (past.due_at - past.visited_at) / DAY)


def grown(found: Freshness, step: int) -> Freshness:
    """Of all pages, where one in `step` was looked at."""
    return msgspec.structs.replace(found, pages=found.pages * step, visits_a_day=found.visits_a_day * step)


def site_sample(name: str, sums: Sums, site: _Site, step: int) -> SiteSample:
    found = in_short(sums)
    assert found is not None, "it has a page"
    return SiteSample(
        site=name,
        pages=found.pages * step,
        age_days=found.average_age_days,
        freshness=found.freshness,
        planned_age_days=found.planned_age_days,
        possible_age_days=found.possible_age_days,
        visits_a_day=found.visits_a_day * step,
        gone=site.gone,
        overdue=site.overdue,
    )


def newest_place(connection: State) -> tuple[str, int]:
    """Up to where captures are catalogued; before all of them when there are none."""
    row = connection.execute(_SQL["newest"]).fetchone()
    return (str(row[0]), int(row[1])) if row is not None else ("", -1)


def visits_since(connection: State, volume: str, number: int, since_at: Instant) -> Visits:
    """What was captured behind that place. Volumes that were rewritten since hold older captures behind it too: what
    was fetched well before `since_at` is not counted again."""
    asked = {"volume": volume, "number": number, "since_at": max(0, since_at - OVERLAP)}
    return Visits(*connection.execute(_SQL["visits"], asked).fetchone())
