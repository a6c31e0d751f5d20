"""What others say of a page's changes: sitemaps, feeds, dates in pages. Evidence, weighed lightly, never a command."""

import math

import msgspec

from gossamer.clock import SECOND, Instant
from gossamer.values.history import DAY_S, History

TRUST = 0.5
"""A hint counts as half a change that was seen: two visits outweigh it."""
LEAST_EVERY_S, MOST_EVERY_S = DAY_S / 24.0, 2.0 * 365.0 * DAY_S
"""`always` is taken for hourly, `never` for every two years."""
OLDEST_DAYS = 10.0 * 365.0
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.25, 4.0


class Hints(msgspec.Struct, frozen=True):
    every_s: float | None = None
    """A sitemap's changefreq, or a feed's usual distance between items, in seconds."""
    changed_at: Instant | None = None
    """A sitemap's lastmod, Last-Modified, schema:dateModified: when it last changed."""
    priority: float | None = None
    """A sitemap's, from 0 to 1 and relative to its own site, where the usual one is 0.5."""


def hinted(history: History, hints: Hints, now: Instant) -> History:
    """The history of a page that has not been visited twice yet, with what is said of it.

    Looking back from a visit, the time since the last change is distributed as the time between changes is: a date
    tells as much as a change of which the moment is known. Dates to come, and older than the web, are none.
    """
    quiet, dated = history.quiet_days, history.dated
    if hints.every_s is not None and hints.every_s >= 0.0:
        dated += TRUST
        quiet += TRUST * min(max(hints.every_s, LEAST_EVERY_S), MOST_EVERY_S) / DAY_S
    if hints.changed_at is not None:
        days = (now - hints.changed_at) / SECOND / DAY_S
        if 0.0 < days < OLDEST_DAYS:
            dated += TRUST
            quiet += TRUST * days
    return msgspec.structs.replace(history, quiet_days=quiet, dated=dated)


def importance_of(inlinks: int, hints: Hints, wish: float = 1.0) -> float:
    """How much a page's age matters, against the average page.

    It doubles with every sixteen-fold number of pages that point at it, moves by a factor of two at most with its
    site's own priority, and with `wish`, the user's rule. REQUIRES: inlinks >= 0, wish > 0.
    """
    linked = math.pow(1.0 + inlinks, 0.25)
    own = 1.0
    if hints.priority is not None and 0.0 <= hints.priority <= 1.0:
        own = math.pow(2.0, 2.0 * hints.priority - 1.0)
    return min(max(linked * own, LEAST_IMPORTANCE), MOST_IMPORTANCE) * wish
