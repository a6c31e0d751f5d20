"""Coming back to pages: what a visit leaves to be remembered, when the page comes again, and what the views are told.

One `Returning` for a crawler. It is asked by one task at a time, once for each visit, when what came is on disk.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gossamer.chance import Chance
from gossamer.clock import SECOND, Instant
from gossamer.fetch.answer import moment_of, validators_of
from gossamer.read_job import ReadDone
from gossamer.recrawl.change import compared, counts
from gossamer.recrawl.hints import Hints, hinted
from gossamer.recrawl.policy import Policy
from gossamer.recrawl.retry import TRANSIENT
from gossamer.rules.templates import template_of
from gossamer.spool.codec import encode
from gossamer.values.capture import Capture
from gossamer.values.due import Known, Why
from gossamer.values.history import COUNTS, DAY_S, Change, Prints, Seen, packed
from gossamer.values.outcome import Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged, capture_of
from gossamer.values.page import Directives, Page, Reading
from gossamer.values.past import Past
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

DAY = round(DAY_S * SECOND)
USUAL_PER_PAGE = 1.0 / 3.0
"""Visits a page and day where no budget is set."""
MOST_PER_PAGE = 24.0
GONE_LOOKS = 8
"""A page that is gone is looked for after 1, 2, 4 ... 128 days, and then no more."""
BROKEN_LOOKS = 12
REFUSED_DAYS = 7.0
"""After so long a rule that keeps us from a page we have is asked again."""
GROWN = 1.1
UNKNOWN = Prints()
UNREAD = frozenset({Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY})
VANISHED, BROKEN, REFUSED = "vanished", "broken", "refused"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Visits a day to pages that were visited before; None: no limit but politeness."""

    in_all: float | None = None
    per_site: float | None = None
    gap_s: float = 0.0
    """What a host is left alone for between two visits. Of the visits that this leaves room for, half are kept for
    pages that were never seen: those that come again cannot keep new ones out."""

    def at_site(self, delay_s: float | None) -> float:
        """Visits a day to one that asks for such a Crawl-delay."""
        gap_s = max(self.gap_s, delay_s if delay_s is not None and delay_s > 0 else 0.0)  # not NaN
        room = DAY_S / gap_s / 2 if gap_s > 0 else math.inf
        return max(1.0, room if self.per_site is None else min(self.per_site, room))


class Plan(msgspec.Struct, frozen=True):
    """What is remembered of a page (None: what was), and when it comes again (None: never)."""

    past: Past | None = None
    due_at: Instant | None = None


class End(msgspec.Struct, frozen=True):
    """A visit's end, as far as the next visit depends on it."""

    visit: Visit
    outcome: Outcome
    reason: Reason
    done_at: Instant
    read: ReadDone | None = None


class Calendar:
    """Which days have visits left under the allowance. It is lost with the process, and begun anew."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._days: Counter[int] = Counter()
        self._site_days: Counter[tuple[str, int]] = Counter()
        self._today = 0

    def room(self, due_at: Instant, site: str, now: Instant, delay_s: float | None = None) -> Instant:
        """The first moment, from `due_at` on and at that hour, on a day with room; it is taken."""
        self._forget_before(now // DAY)
        in_all = math.inf if self._allowance.in_all is None else max(1.0, self._allowance.in_all)
        at_site = self._allowance.at_site(delay_s)
        while self._days[due_at // DAY] >= in_all or self._site_days[site, due_at // DAY] >= at_site:
            due_at += DAY
        if in_all < math.inf:
            self._days[due_at // DAY] += 1
        if at_site < math.inf:
            self._site_days[site, due_at // DAY] += 1
        return due_at

    def _forget_before(self, today: int) -> None:
        if today == self._today:
            return
        self._today = today
        self._days = Counter({day: many for day, many in self._days.items() if day >= today})
        self._site_days = Counter({key: many for key, many in self._site_days.items() if key[1] >= today})


class Returning:
    def __init__(
        self,
        policy: Callable[[float], Policy],
        chance: Chance,
        allowance: Allowance | None = None,
        wanted: Change = COUNTS,
        start: Callable[[Visit, Known], Known] = lambda _visit, known: known,
    ) -> None:
        """`policy` makes the policy for so many visits a page and day. `wanted`: which changes count. `start` may move
        what is known of a page before its first visit."""
        allowance = allowance or Allowance()
        self._chance, self._wanted, self._start = chance, wanted, start
        self._per_day = allowance.in_all
        self._calendar = Calendar(allowance)
        self._pages = self._told_pages = 0
        self._policy = policy(self._per_page())
        self._since: Instant | None = None
        self._made, self._late_days = 0, 0.0

    @property
    def policy(self) -> Policy:
        return self._policy

    def holds(self, pages: int) -> None:
        """So many pages share the budget."""
        self._pages = pages
        if self._per_day is not None and not self._told_pages / GROWN <= pages <= self._told_pages * GROWN:
            self._told_pages = pages
            self._policy.allow(self._per_page())

    def change(self, past: Past, read: ReadDone) -> Change:
        return compared(past.prints, read.prints or UNKNOWN)

    def shown(self, end: End) -> ReadDone | None:
        """What was read, with what the views are to get of it: nothing, when nothing that counts has changed; when the
        page is gone, that it says nothing any more."""
        past, read = end.visit.past, end.read
        if past is None or read is None:
            return read
        if is_gone(end):
            capture = capture_of(end.outcome)
            assert capture is not None, "or nothing would have been read"
            return msgspec.structs.replace(read, reading=encode(silence(capture))) if past.is_page else read
        if read.prints is None or past.prints == UNKNOWN or read.is_page != past.is_page:
            return read
        is_new = counts(self.change(past, read), self._wanted)
        return read if is_new else msgspec.structs.replace(read, reading=b"", is_shown=False)

    def plan(self, end: End) -> Plan:
        """REQUIRES: it is asked once for each visit."""
        visit, past, outcome = end.visit, end.visit.past, end.outcome
        if visit.kind is VisitKind.ROBOTS:
            return Plan()
        self._count(visit, end.done_at)
        if is_gone(end):
            return self._gone(end, past) if past is not None else Plan()
        if isinstance(outcome, Unchanged) and past is not None:
            return self._seen(end, past, past, False, None)
        if isinstance(outcome, Fetched) and end.read is not None and end.read.prints is not None:
            return self._read(end, outcome.capture, end.read, end.read.prints)
        if isinstance(outcome, Refused):
            return self._later(end, past, REFUSED_DAYS, REFUSED) if past is not None else Plan()
        if (past is None and end.reason not in TRANSIENT | UNREAD) or visit.failures >= BROKEN_LOOKS:
            return Plan()
        return self._later(end, past, 2.0 ** min(visit.failures, GONE_LOOKS - 1), BROKEN)

    def _read(self, end: End, capture: Capture, read: ReadDone, prints: Prints) -> Plan:
        past = end.visit.past
        tags = validators_of(capture)
        may_refer = read.is_whole and capture.truncated is None
        is_referring = past is not None and read.refers_at is not None
        now = Past(
            visited_at=end.done_at,
            due_at=0,
            original_at=past.original_at if past is not None and is_referring else capture.fetched_at,
            digest=read.digest if may_refer else b"",
            etag=tags.etag if capture.truncated is None else "",
            last_modified=tags.last_modified if capture.truncated is None else "",
            is_page=read.is_page,
            prints=prints,
            history=past.history if past is not None else packed(self._known(end.visit, None).history),
        )
        changed_at = moment_of(tags.last_modified) if tags.last_modified else None
        if past is None or past.prints == UNKNOWN:
            return self._first(end, now, changed_at)
        return self._seen(end, past, now, counts(self.change(past, read), self._wanted), changed_at)

    def _first(self, end: End, now: Past, changed_at: Instant | None) -> Plan:
        if end.visit.past is None:
            self.holds(self._pages + 1)
        known = self._start(end.visit, self._known(end.visit, now))
        history = hinted(known.history, Hints(changed_at=changed_at), end.done_at)
        known = msgspec.structs.replace(known, history=history)
        due = self._policy.first_due(known, end.done_at, self._chance.random())
        return self._planned(end, msgspec.structs.replace(now, history=packed(history)), due.at, due.why)

    def _seen(self, end: End, before: Past, now: Past, has_changed: bool, changed_at: Instant | None) -> Plan:
        elapsed_s = max(0.0, (end.done_at - before.visited_at) / SECOND)
        seen = Seen(end.done_at, elapsed_s, has_changed, changed_at if has_changed else None)
        planned = self._policy.next_due(self._known(end.visit, before), seen, self._chance.random())
        now = msgspec.structs.replace(now, visited_at=end.done_at, history=packed(planned.history), gone=0)
        return self._planned(end, now, planned.due.at, planned.due.why)

    def _gone(self, end: End, past: Past) -> Plan:
        """Looked for again, ever more seldom; the first answer it gives is taken whole."""
        now = msgspec.structs.replace(past.without_body(), visited_at=end.done_at, gone=past.gone + 1, why=VANISHED)
        if past.gone >= GONE_LOOKS:
            return Plan(now)
        return self._later(end, now, 2.0**past.gone, VANISHED)

    def _later(self, end: End, past: Past | None, days: float, why: str) -> Plan:
        due_at = end.done_at + round(days * (1.0 + self._chance.random() / 4) * DAY)
        return Plan(msgspec.structs.replace(past, due_at=due_at, why=why) if past is not None else None, due_at)

    def _planned(self, end: End, now: Past, due_at: Instant, why: Why) -> Plan:
        visit = end.visit
        delay_s = visit.robots.crawl_delay_s if visit.robots is not None else None
        due_at = self._calendar.room(max(due_at, end.done_at + 1), visit.url.host.name, end.done_at, delay_s)
        return Plan(msgspec.structs.replace(now, due_at=due_at, why=why.value), due_at)

    def _known(self, visit: Visit, past: Past | None) -> Known:
        known = Known(visit.url.id, (visit.url.host.name, template_of(visit.url)))
        return msgspec.structs.replace(known, history=past.known) if past is not None else known

    def _per_page(self) -> float:
        if self._per_day is None:
            return USUAL_PER_PAGE
        return min(self._per_day / max(self._pages, 1), MOST_PER_PAGE)

    def _count(self, visit: Visit, now: Instant) -> None:
        """Once a day the policy hears how much of the budget was used and how late visits were."""
        self._since = now if self._since is None else self._since
        if visit.past is not None:
            self._made += 1
            self._late_days += max(0, visit.taken_at - visit.past.due_at) / DAY
        passed = (now - self._since) / DAY
        if passed < 1.0:
            return
        could = self._per_page() * max(self._pages, 1) * passed
        self._policy.told_load(self._made / could, self._late_days / max(self._made, 1), now)
        self._since, self._made, self._late_days = now, 0, 0.0


def is_gone(end: End) -> bool:
    """Whether there is no such page any more, as far as its server says: its place in the views is given up."""
    return isinstance(end.outcome, Gone | Moved) or end.reason is Reason.SOFT_404


def silence(capture: Capture) -> Reading:
    """What takes the place of a page that is gone: it says nothing, and stands against older captures."""
    return silent_page(capture.url, capture.id, capture.fetched_at)


def silent_page(url: Url, capture_id: int, fetched_at: Instant) -> Reading:
    return Reading(capture_id, fetched_at, Page(url, "", "", directives=Directives(may_index=False, may_follow=False)))
