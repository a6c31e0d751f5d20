"""A crawl that comes back to pages, as its settings say."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial, reduce
from operator import or_
from pathlib import Path

import msgspec

from gossamer.base.environment import Outside
from gossamer.base.tell import Tell
from gossamer.config.settings import Settings
from gossamer.crawler.revisit import Returning
from gossamer.crawler.sweeps import Hastening, Neighbours, hastening, no_neighbours
from gossamer.frontier.api import Frontier
from gossamer.recrawl.calendar import VisitBudget
from gossamer.recrawl.policies import Tree, policy_named
from gossamer.values.history import Change, PolicyPage
from gossamer.values.visit import Visit


def returning(settings: Settings, outside: Outside, nudge: Callable[[Visit], int]) -> Returning | None:
    given = settings.crawl
    if given.revisit == "no":
        return None
    allowance = VisitBudget(given.revisit_budget, given.revisit_site_budget, settings.politeness.delay_s)
    policy = partial(policy_named, given.revisit)
    wanted = counted_changes(given.changes)
    if given.revisit == "tree":
        return Returning(policy, outside.chance, allowance, wanted, start=at_its_level, nudge=nudge)
    return Returning(policy, outside.chance, allowance, wanted, nudge=nudge)


def counted_changes(names: Sequence[str]) -> Change:
    """What counts as a change of a page."""
    return reduce(or_, [Change[name.upper()] for name in names], Change.NONE)


def at_its_level(visit: Visit, known: PolicyPage) -> PolicyPage:
    """For `tree`: starting points come at each crawl."""
    history = Tree().shallow(known.history, visit.depth == 0)
    return msgspec.structs.replace(known, history=history)


@asynccontextmanager
async def coming_back(
    returning: Returning | None, settings: Settings, frontier: Frontier, links: Path, outside: Outside, tell: Tell
) -> AsyncIterator[None]:
    """Pages that were fetched before wait again, and the days of the budget are as full as they are planned already.
    While it is open pages come sooner because of others, where that is wanted."""
    if returning is None:
        yield
        return
    await frontier.recall()
    returning.expect(await frontier.plans())
    if settings.crawl.revisit == "uniform":
        yield
        return
    around = Neighbours(links) if settings.crawl.revisit != "tree" else no_neighbours
    work = Hastening(frontier, returning, around, outside.dates, tell, settings.crawl.revisit_links)
    async with hastening(work, frontier, outside.dates):
        yield
