"""Which URL first, which host first. Pure; shared by both frontiers.

A URL has a priority, by where it was found and how; within its host the lower goes first. Each host is in the band
(Mercator's front queue) of its best waiting URL; the last band is for hosts over their budget. A band is drawn at
random, better ones more often, none never.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import xxhash

from gossamer.config.slices import SiteBudget
from gossamer.frontier.politeness import failures_after
from gossamer.values.link import How
from gossamer.values.outcome import PAGE_ERRORS
from gossamer.values.visit import Settled

BANDS = 8
LAST = BANDS - 1
"""The band of hosts over their budget: they wait behind the others, but are served."""
LOWEST = 63
_START = 8
_STEP = 4
"""One step away from the seeds weighs as much as the largest hint."""
MOST_HINT = 4
MOST_NUDGE = 8
MOST_OTHERS = 3
_PER_BAND = 9
_HEAD_START: dict[How, int] = {
    How.SEED: -2,
    How.ROBOTS: -4,  # a sitemap lists many pages at once
    How.MAP: -4,
    How.FEED: -2,  # what a feed lists is new
}
LINK_BITS = 63


@lru_cache(maxsize=4096)
def priority_of(how: How, depth: int, hint: int = 0, nudge: int = 0, others: int = 0) -> int:
    """From 0 (first) to LOWEST. `nudge`: from the user's rules; `others`: how many other hosts link to the URL."""
    place = _START + _STEP * depth + _HEAD_START.get(how, 0)
    place += max(-MOST_HINT, min(MOST_HINT, hint)) + max(-MOST_NUDGE, min(MOST_NUDGE, nudge))
    return with_links(max(0, min(LOWEST, place)), others)


def priority_after(settled: Settled, priority: int) -> int:
    """The priority of a page that is revisited. One that exceeded a limit goes behind the other pages of its host, so
    that it does not delay them again; after a success it gets its first priority back."""
    if settled.reason in PAGE_ERRORS:
        return LOWEST
    if priority == LOWEST and settled.visit.failures and not failures_after(settled):
        return priority_of(settled.visit.how, settled.visit.depth)
    return priority


def with_links(priority: int, others: int) -> int:
    """The priority of a URL that so many other hosts link to."""
    return max(0, priority - min(others, MOST_OTHERS))


def band_of(priority: int, is_over_budget: bool = False) -> int:
    return LAST if is_over_budget else min(LAST - 1, priority // _PER_BAND)


def pick_band(waiting: Sequence[int], draw: float) -> int:
    """One of the bands that have hosts: each has twice the chance of the next one.

    REQUIRES: `waiting` is sorted and not empty, 0 <= draw < 1. The last takes what is left over: it never starves.
    """
    for band in waiting[:-1]:
        if draw < 0.5:
            return band
        draw = 2 * draw - 1
    return waiting[-1]


def linked(bits: int, source: str) -> int:
    """`bits` with one more host that links here. A host counts once, however often it does."""
    return bits | 1 << xxhash.xxh3_64_intdigest(source.encode()) % LINK_BITS


def linked_by(sources: Iterable[str]) -> int:
    """A counter of these hosts."""
    bits = 0
    for source in sources:
        bits = linked(bits, source)
    return bits


def links_in(bits: int) -> int:
    """About how many hosts were counted (linear counting: Whang and others, 1990); from 0 to about 260."""
    zeros = LINK_BITS - bits.bit_count()
    return round(LINK_BITS * math.log(LINK_BITS / max(1, zeros)))


def is_over_budget(budget: SiteBudget, visits: int, spent_s: float, linked_from: int) -> bool:
    """Whether a site has used up its budget. `linked_from`: the counter of other hosts that link to it (`linked`)."""
    if budget.time_s is not None and spent_s > budget.time_s:
        return True
    return visits >= budget.visits and visits >= budget.visits + budget.visits_per_link * links_in(linked_from)


MOST_RAISED = 128
"""URLs moved ahead in one merge."""
HEAD = 64
"""Waiting URLs of a lane that are searched."""


def raised(priority: int, how: How, depth: int, moved_by_rules: int) -> int:
    """One place better, but no better than links can make a URL that was found in this way."""
    best = max(0, priority_of(how, depth) + moved_by_rules - MOST_OTHERS)
    return min(priority, max(best, priority - 1))
