"""Revisits: what is remembered of a fetched page, when it is due again, and what the views get of it.

A crawler has one `Revisits`. It plans each fetch once, when the response is on disk.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import or_

import msgspec

from gossamer.base.clock import DAY, SECOND, Instant
from gossamer.base.environment import Chance, Outside
from gossamer.config.settings import Settings
from gossamer.fetch.answer import moment_of, validators_of
from gossamer.frontier.priority import priority_of
from gossamer.recrawl import change
from gossamer.recrawl.policies import Calendar, Policy, Tree, VisitBudget, policy_named
from gossamer.recrawl.rates import believed
from gossamer.recrawl.retry import TRANSIENT
from gossamer.rules.learned.traps import template_of
from gossamer.spool.codec import encode
from gossamer.values.capture import Capture
from gossamer.values.history import COUNTS, FADES, Change, Past, PolicyPage, Prints, VisitFinding, Why, packed
from gossamer.values.link import How
from gossamer.values.messages import Listed, Listing, ReadDone
from gossamer.values.outcome import Fetched, Gone, Moved, Outcome, Reason, Refused, Unchanged, capture_of
from gossamer.values.page import empty_reading
from gossamer.values.url import Url
from gossamer.values.visit import Visit, VisitKind

USUAL_PER_PAGE = 1.0 / 3.0
"""Fetches per page and day where no budget is set."""
MOST_PER_PAGE = 24.0
GONE_LOOKS = 8
"""A page that is gone is requested again after 1, 2, 4 ... 128 days, and then no more."""
BROKEN_LOOKS = 12
REFUSED_DAYS = 7.0
"""After so long, a page that we have and that a rule refuses is judged again."""
GROWN = 1.1
AVERAGED = 1_000
"""Pages over which the average importance is taken."""
UNKNOWN = Prints()
UNREAD = frozenset({Reason.READ_TIMEOUT, Reason.READ_CRASH, Reason.READ_MEMORY})
VANISHED, BROKEN, REFUSED = "vanished", "broken", "refused"


class NextFetch(msgspec.Struct, frozen=True):
    """What is remembered of a page (None: as before), and when it is due again (None: never)."""

    past: Past | None = None
    due_at: Instant | None = None


class FetchEnd(msgspec.Struct, frozen=True):
    """The end of a fetch, as far as the next one depends on it."""

    visit: Visit
    outcome: Outcome
    reason: Reason
    done_at: Instant
    read: ReadDone | None = None


class Revisits:
    def __init__(
        self,
        policy: Callable[[float], Policy],
        chance: Chance,
        allowance: VisitBudget | None = None,
        wanted: Change = COUNTS,
        start: Callable[[Visit, PolicyPage], PolicyPage] = lambda _visit, known: known,
        nudge: Callable[[Visit], int] = lambda _: 0,
    ) -> None:
        """`policy` makes the policy for a number of fetches per page and day. `wanted`: which changes count. `start`
        may adjust what is known of a page before its first fetch. `nudge`: what the user's rules add to its rank, from
        -8 (sooner, or more often) to 8."""
        self.turn = asyncio.Lock()
        """Held while a group is settled, on a thread, and while a sweep plans: calendar and news have no locks."""
        allowance = allowance or VisitBudget()
        self._chance, self._wanted, self._start, self._nudge = chance, wanted, start, nudge
        self._novelties = change.Novelties()
        self._weighed, self._mean_weight = 0, 1.0
        self._per_day = allowance.in_all
        self._calendar = Calendar(allowance)
        self._pages = self._planned_pages = 0
        self._policy = policy(self._per_page())
        self._since: Instant | None = None
        self._made, self._late_days = 0, 0.0

    @property
    def policy(self) -> Policy:
        return self._policy

    def set_pages(self, pages: int) -> None:
        """How many pages share the budget."""
        self._pages = pages
        if self._per_day is not None and not self._planned_pages / GROWN <= pages <= self._planned_pages * GROWN:
            self._planned_pages = pages
            self._policy.set_budget(self._per_page())

    def expect(self, plans: Mapping[tuple[str, int], int]) -> None:
        """How many pages are planned for each day at each host, after a restart."""
        self._calendar.expect(plans)

    def news(self) -> change.NeighbourNews:
        """Pages found changed since the last call, and those to be checked because of it. REQUIRES: `turn` is held."""
        return self._novelties.taken()

    def earliest(self, url: Url, past: Past, now: Instant) -> Instant:
        """The earliest time that the budget leaves for a page that is brought forward. REQUIRES: `turn` is held."""
        return self._calendar.bring_forward(past.due_at, url.host.name, now, past.free_at)

    def change(self, past: Past, read: ReadDone) -> Change:
        return change.compared(past.prints, read.prints or UNKNOWN)

    def indexed(self, end: FetchEnd) -> ReadDone | None:
        """What was read, with what the views get of it: nothing if no change counts; an empty reading if the page is
        gone."""
        past, read = end.visit.past, end.read
        if past is None or read is None or is_gone(end):
            return indexed_once(end)
        if read.prints is None or past.prints == UNKNOWN or read.is_page != past.is_page:
            return read
        is_new = change.counts(self.change(past, read), self._counting(read))
        return read if is_new else msgspec.structs.replace(read, reading=b"", is_shown=False)

    def plan(self, end: FetchEnd) -> NextFetch:
        """REQUIRES: called once for each fetch, and `turn` is held."""
        visit, past, outcome = end.visit, end.visit.past, end.outcome
        if visit.kind is VisitKind.ROBOTS:
            return NextFetch()
        self._count(visit, end.done_at)
        if is_gone(end):
            return self._gone(end, past) if past is not None else NextFetch()
        if isinstance(outcome, Unchanged) and past is not None:
            return self._seen(end, past, past, False, ())
        if isinstance(outcome, Fetched) and end.read is not None and end.read.prints is not None:
            return self._read(end, outcome.capture, end.read, end.read.prints)
        if isinstance(outcome, Refused):
            return self._later(end, past, REFUSED_DAYS, REFUSED) if past is not None else NextFetch()
        if (past is None and end.reason not in TRANSIENT | UNREAD) or visit.failures >= BROKEN_LOOKS:
            return NextFetch()
        return self._later(end, past, 2.0 ** min(visit.failures, GONE_LOOKS - 1), BROKEN)

    def _read(self, end: FetchEnd, capture: Capture, read: ReadDone, prints: Prints) -> NextFetch:
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
            changed_at=past.changed_at if past is not None else 0,
            link_check=past.link_check if past is not None else None,
            leads=past.leads if past is not None else 0,
            links=change.links_print(read.links, end.visit.url.host.name),
            said_at=(end.visit.claim.changed_at or 0) if end.visit.claim is not None else 0,
        )
        if read.listing is not None:
            own = [one for one in news_in(end.visit, read.listing) if not one.is_foreign]
            self._novelties.add_listed([(one.url, one.changed_at) for one in own if one.changed_at is not None])
        dates = dates_of(end.visit, read, tags.last_modified)
        if past is None or past.prints == UNKNOWN:
            return self._first(end, now, dates)
        return self._seen(end, past, now, self._has_changed(past, now, read), dates)

    def _has_changed(self, past: Past, now: Past, read: ReadDone) -> bool:
        """For the schedule. A page that has led to new pages before changes with its links too."""
        is_renewed = past.leads > 0 and past.links != now.links and bool(past.links)
        return is_renewed or change.counts(self.change(past, read), self._counting(read))

    def _counting(self, read: ReadDone) -> Change:
        """A sitemap or feed changes with each of its entries; often it has no text to compare."""
        return self._wanted | Change.BYTES if read.listing is not None else self._wanted

    def _first(self, end: FetchEnd, now: Past, dates: tuple[Instant, ...]) -> NextFetch:
        visit = end.visit
        if visit.past is None:
            self.set_pages(self._pages + 1)
        known = self._start(visit, self._known(visit, now))
        every_s = visit.claim.every_s if visit.claim is not None else None
        history = change.hinted(known.history, change.Hints(every_s, dates[0] if dates else None), end.done_at)
        if is_item(visit, now):
            history = change.published(history)
        known = msgspec.structs.replace(known, history=history)
        due = self._policy.first_due(known, end.done_at, self._chance.random())
        return self._planned(end, msgspec.structs.replace(now, history=packed(history)), due.at, due.why)

    def _seen(self, end: FetchEnd, before: Past, now: Past, has_changed: bool, dates: tuple[Instant, ...]) -> NextFetch:
        at = end.done_at
        elapsed_s = max(0.0, (at - before.visited_at) / SECOND)
        told_at = next((one for one in dates if believed(one, at, elapsed_s)), None)
        seen = VisitFinding(at, elapsed_s, has_changed, told_at if has_changed else None)
        planned = self._policy.next_due(self._known(end.visit, before), seen, self._chance.random())
        kept, whole = FADES
        now = msgspec.structs.replace(
            now,
            visited_at=at,
            history=packed(planned.history),
            gone=0,
            changed_at=at if has_changed else before.changed_at,
            leads=before.leads * kept // whole,
            said_at=(end.visit.claim.changed_at or 0) if end.visit.claim is not None else 0,
        )
        if has_changed:
            self._novelties.found(end.visit.url, end.read.links if planned.checks_links and end.read else ())
        return self._planned(end, now, planned.due.at, planned.due.why)

    def _gone(self, end: FetchEnd, past: Past) -> NextFetch:
        """Requested again, ever more rarely; its first response is stored whole."""
        now = msgspec.structs.replace(past.without_body(), visited_at=end.done_at, gone=past.gone + 1, why=VANISHED)
        if past.gone >= GONE_LOOKS:
            return NextFetch(now)
        return self._later(end, now, 2.0**past.gone, VANISHED)

    def _later(self, end: FetchEnd, past: Past | None, days: float, why: str) -> NextFetch:
        free_at = free_after(end.visit, end.done_at)
        due_at = max(free_at, end.done_at + round(days * (1.0 + self._chance.random() / 4) * DAY))
        if past is None:
            return NextFetch(None, due_at)
        return NextFetch(msgspec.structs.replace(past, due_at=due_at, why=why, free_at=free_at), due_at)

    def _planned(self, end: FetchEnd, now: Past, due_at: Instant, why: Why) -> NextFetch:
        visit = end.visit
        delay_s = visit.robots.crawl_delay_s if visit.robots is not None else None
        free_at = free_after(visit, end.done_at)
        if free_at > due_at:
            due_at, why = free_at, Why.ASKED
        due_at = self._calendar.reserve(max(due_at, end.done_at + 1), visit.url.host.name, end.done_at, delay_s)
        return NextFetch(msgspec.structs.replace(now, due_at=due_at, why=why.value, free_at=free_at), due_at)

    def _known(self, visit: Visit, past: Past | None) -> PolicyPage:
        known = PolicyPage(visit.url.id, (visit.url.host.name, template_of(visit.url)))
        if past is None:
            return known
        return msgspec.structs.replace(known, history=past.known, importance=self._relative(self._weight(visit, past)))

    def _weight(self, visit: Visit, past: Past) -> float:
        nudge = self._nudge(visit)
        moved = 0 if visit.priority is None else visit.priority - priority_of(visit.how, visit.depth, nudge=nudge)
        return change.importance_of(visit.depth, moved, past.new_pages, nudge, is_item(visit, past))

    def _relative(self, weight: float) -> float:
        """Compared with the average of recent pages, so that the budget is used up and not exceeded."""
        self._weighed = min(self._weighed + 1, AVERAGED)
        self._mean_weight += (weight - self._mean_weight) / self._weighed
        return weight / self._mean_weight

    def _per_page(self) -> float:
        if self._per_day is None:
            return USUAL_PER_PAGE
        return min(self._per_day / max(self._pages, 1), MOST_PER_PAGE)

    def _count(self, visit: Visit, now: Instant) -> None:
        """Once a day, report to the policy how much of the budget was used and how late fetches were."""
        self._since = now if self._since is None else self._since
        if visit.past is not None:
            self._made += 1
            self._late_days += max(0, visit.taken_at - visit.past.due_at) / DAY
        passed = (now - self._since) / DAY
        if passed < 1.0:
            return
        could = self._per_page() * max(self._pages, 1) * passed
        self._policy.report_load(self._made / could, self._late_days / max(self._made, 1), now)
        self._since, self._made, self._late_days = now, 0, 0.0


def free_after(visit: Visit, done_at: Instant) -> Instant:
    """When a page may be fetched again after this fetch, by its host's Recrawl-delay; 0: at any time."""
    delay_s = visit.robots.recrawl_delay_s if visit.robots is not None else None
    return done_at + math.ceil(delay_s * SECOND) if delay_s else 0


def indexed_once(end: FetchEnd) -> ReadDone | None:
    """What was read, with what the views get of it in a crawl without revisits, where pages are fetched again only on
    request: an empty reading if the page is gone."""
    past, read, capture = end.visit.past, end.read, capture_of(end.outcome)
    if past is None or read is None or capture is None or not is_gone(end) or not past.is_page:
        return read
    return msgspec.structs.replace(read, reading=encode(empty_reading(capture)))


def is_item(visit: Visit, past: Past) -> bool:
    """Whether it was found as an item of a feed."""
    return visit.how is How.FEED and past.is_page


def dates_of(visit: Visit, read: ReadDone, last_modified: str) -> tuple[Instant, ...]:
    """When the page last changed, according to a sitemap or feed, the page itself and its server: most trusted first.
    Servers stamp pages that they generate with the present; the other two are written by people and their tools."""
    said_at = visit.claim.changed_at if visit.claim is not None else None
    sent_at = moment_of(last_modified) if last_modified else None
    return tuple([at for at in (said_at, read.modified_at, sent_at) if at is not None])


def news_in(visit: Visit, listing: Listing) -> list[Listed]:
    """The entries with a date or a frequency of change that are newer than the last reading of the list. A date without
    a time of day may be a day late."""
    since_at = visit.past.visited_at - DAY if visit.past is not None else None
    said = [one for one in listing.entries if one.changed_at is not None or one.every_s is not None]
    return said if since_at is None else [one for one in said if (one.changed_at or 0) > since_at]


def is_gone(end: FetchEnd) -> bool:
    """Whether its server says that there is no such page any more: it leaves the views."""
    return isinstance(end.outcome, Gone | Moved) or end.reason is Reason.SOFT_404


def revisits_for(settings: Settings, outside: Outside, nudge: Callable[[Visit], int]) -> Revisits | None:
    given = settings.crawl
    if given.revisit == "no":
        return None
    allowance = VisitBudget(given.revisit_budget, given.revisit_site_budget, settings.politeness.delay_s)
    policy = partial(policy_named, given.revisit)
    wanted = reduce(or_, [Change[name.upper()] for name in given.changes], Change.NONE)
    if given.revisit == "tree":
        return Revisits(policy, outside.chance, allowance, wanted, start=at_its_level, nudge=nudge)
    return Revisits(policy, outside.chance, allowance, wanted, nudge=nudge)


def at_its_level(visit: Visit, known: PolicyPage) -> PolicyPage:
    """For `tree`: the starting points are due at each crawl."""
    history = Tree().at_depth(known.history, visit.depth)
    return msgspec.structs.replace(known, history=history)
