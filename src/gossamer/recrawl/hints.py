"""What others say of a page's changes: sitemaps, feeds, dates in pages. Evidence, weighed lightly, never a command."""

import math
import re
from datetime import UTC, datetime

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.values.history import History

TRUST = 0.5
"""A hint counts as half a change that was seen: two visits outweigh it."""
LEAST_EVERY_S, MOST_EVERY_S = DAY_S / 24.0, 2.0 * 365.0 * DAY_S
"""`always` is taken for hourly, `never` for every two years."""
OLDEST_DAYS = 10.0 * 365.0
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.25, 4.0
FARTHEST = 12
MOST_MOVED = 4
MOST_NUDGE = 8
PUBLISHED_SHARE = 0.25
PUBLISHED_DAYS = 120.0
"""An item of a feed counts as if it had been seen unchanged for so long."""


class Hints(msgspec.Struct, frozen=True):
    every_s: float | None = None
    """A sitemap's changefreq, or a feed's usual distance between items, in seconds."""
    changed_at: Instant | None = None
    """A sitemap's lastmod, Last-Modified, schema:dateModified: when it last changed."""


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


def published(history: History) -> History:
    """The history of a page that a feed has published: such pages hardly ever change, and are rarely looked at again
    (C8), until one does."""
    return msgspec.structs.replace(history, quiet_days=history.quiet_days + PUBLISHED_DAYS)


def importance_of(
    depth: int, moved: int = 0, new_pages: float = 0.0, nudge: int = 0, is_published: bool = False
) -> float:
    """How much a page's age matters, against one that is four steps from its seed and nothing else is known of.

    It halves with every four steps from the seeds. `moved` is by how much links from other sites (below zero) and a
    sitemap's priority within its own site (either way) have moved its place in the queue, `new_pages` how many new
    pages its last visits have led to: a new link is worth a visit. What a feed has published counts a quarter: its news
    was that it appeared. All that is bounded; `nudge`, the user's own rules,
    counts beyond it: a factor of four either way at the most. REQUIRES: depth >= 0, new_pages >= 0.
    """
    steps = 4.0 - min(depth, FARTHEST) - max(-MOST_MOVED, min(MOST_MOVED, moved))
    weight = math.pow(2.0, steps / 4.0) * math.sqrt(1.0 + new_pages / 2.0)
    weight *= PUBLISHED_SHARE if is_published else 1.0
    wish = math.pow(2.0, -max(-MOST_NUDGE, min(MOST_NUDGE, nudge)) / 4.0)
    return min(max(weight, LEAST_IMPORTANCE), MOST_IMPORTANCE) * wish


# When a page says that it last changed: schema:dateModified, article:modified_time, dcterms:modified. A hint.

_STATED = re.compile(rb"^\S+ <[^>\s]*(?:dateModified|modified_time|terms/modified)> \"([^\"\\]{8,40})\"", re.MULTILINE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def modified_at(facts: bytes, fetched_at: Instant) -> Instant | None:
    """The latest of the moments that its facts (N-Triples) name, but for those that are still to come."""
    if b"odified" not in facts:
        return None
    told = [at for found in _STATED.finditer(facts) if (at := _moment(found[1])) is not None]
    return max([at for at in told if 0 < at <= fetched_at], default=None)


def _moment(written: bytes) -> Instant | None:
    """ISO 8601; without a zone UTC is meant."""
    try:
        said = datetime.fromisoformat(written.decode("ascii").strip())
        said = said if said.tzinfo is not None else said.replace(tzinfo=UTC)
        return round((said - _EPOCH).total_seconds()) * SECOND
    except (ValueError, OverflowError):
        return None
