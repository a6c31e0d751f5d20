"""What is queued again of fetched URLs, and until when it waits. Pure; shared by both stores."""

import math
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.priority import MOST_NUDGE, priority_of
from gossamer.frontier.rows import HOWS, REASONS
from gossamer.recrawl.retry import TRANSIENT
from gossamer.values.history import Past, Reschedule, packed
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.visit import Selection

REPAIRABLE = TRANSIENT | {Reason.ROBOTS_UNREACHABLE, Reason.CONTACT, Reason.ADDRESS, Reason.TLS}
"""Results whose cause a setting, a server or a network may have removed since."""
AT_ONCE = 1_000
"""URLs moved in one transaction; between two of them a crawl takes and settles."""
FIRST = -(1 << 63)
MOST_EXAMPLES = 3
MOST_DETAILS = 10
HAD = frozenset({Reason.FETCHED, Reason.UNCHANGED})
"""Results of pages that the views hold."""
ASKS_ROBOTS = frozenset({Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.ADDRESS, Reason.CONTACT})
"""Results after which the robots.txt is requested again before the URL is judged."""


class EndRow(NamedTuple):
    """A URL and how its last visit ended: a row of the `ended_...` statements, in the codes of state.db."""

    host_id: int
    id: int
    lane: int
    depth: int
    how_code: int
    reason_code: int
    due_at: Instant | None
    """None: it waits for nothing."""
    settled_at: Instant
    free_at: Instant = 0
    """It is not visited again before."""

    @property
    def reason(self) -> Reason:
        return REASONS[self.reason_code]

    @property
    def priority(self) -> int:
        is_had = self.reason in HAD
        return priority_of(HOWS[self.how_code], self.depth) if is_had else priority_again(self.depth)


class Again(NamedTuple):
    """URLs that are to be queued again, or to be due earlier."""

    rows: list[EndRow]
    after: tuple[int, ...] | None = None
    """Where the next transaction continues; None: nowhere."""

    @property
    def over(self) -> list[EndRow]:
        """Those that wait for nothing."""
        return [row for row in self.rows if row.due_at is None]

    def later(self, now: Instant) -> list[EndRow]:
        """Those that wait for a later time."""
        return [row for row in self.rows if row.due_at is not None and row.due_at > now]

    def unasked(self) -> list[tuple[int, int]]:
        """Origins (host id and lane) whose robots.txt is requested again."""
        return sorted({(row.host_id, row.lane) for row in self.over if row.reason in ASKS_ROBOTS})

    def forgiven(self) -> list[int]:
        """Hosts that start again without failures."""
        return sorted({row.host_id for row in self.over if row.reason not in HAD})


def is_selected(row: EndRow, selection: Selection) -> bool:
    """By reason, and by how it was found."""
    has_reason = not selection.reasons or row.reason in selection.reasons
    return has_reason and (not selection.hows or HOWS[row.how_code] in selection.hows)


def free_at(settled_at: Instant, robots: Robots | None) -> Instant:
    """When a page may be revisited by its host's Recrawl-delay; 0: at any time."""
    delay_s = robots.recrawl_delay_s if robots is not None else None
    return settled_at + math.ceil(delay_s * SECOND) if delay_s else 0


def begun(settled_at: Instant, due_at: Instant) -> Past:
    """The first record of a page fetched before the crawl revisited any: if it is gone by now, the views must know."""
    return Past(settled_at, due_at, is_page=True)


def priority_again(depth: int) -> int:
    """Before other URLs of its depth."""
    return priority_of(How.LINK, depth, nudge=-MOST_NUDGE)


def rescheduled(past: Past, change: Reschedule, is_moved: bool) -> Past:
    """What is remembered about a page from now on; `is_moved`: it waits for its new time."""
    if change.threshold is not None:
        history = msgspec.structs.replace(past.known, threshold=change.threshold)
        past = msgspec.structs.replace(past, history=packed(history))
    if change.link_check is not None:
        past = msgspec.structs.replace(past, link_check=change.link_check)
    if is_moved and change.due_at is not None:
        past = msgspec.structs.replace(past, due_at=change.due_at, why=change.why.value)
    return past
