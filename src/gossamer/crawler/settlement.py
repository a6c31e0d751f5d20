"""The outcome of a fetch as the frontier stores it. Pure.

How it ended, when it is due again, where it led.
"""

import math
from dataclasses import dataclass

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Chance
from gossamer.config.slices import RobotsKeeping
from gossamer.crawler.revisit import FetchEnd, NextFetch, Revisits, free_after, news_in
from gossamer.fetch.answer import entry_of
from gossamer.recrawl.retry import TRANSIENT, Retry, is_host_fault, next_due
from gossamer.rules.canonical import identity_of, stripped
from gossamer.rules.learned.model import Learned
from gossamer.values.capture import Capture, Kept, Place, Truncated
from gossamer.values.link import How, ListClaim, Offer
from gossamer.values.messages import Listed, Listing, ReadDone, kept_at
from gossamer.values.outcome import (
    PAGE_ERRORS,
    Failed,
    Fetched,
    Moved,
    Outcome,
    Reason,
    Refused,
    capture_of,
    reason_of,
)
from gossamer.values.robots import Robots
from gossamer.values.url import Url, url_of
from gossamer.values.visit import FOLLOWED, Settled, Visit, VisitKind

MAPS = (How.ROBOTS, How.MAP)
NEVER_THE_PAGE = frozenset((Reason.DNS, Reason.CONNECT))
"""A page cannot cause these, only its host."""
AGAIN_S = 3600.0
"""When a feed that does not say is fetched again."""
MOST_FOREIGN_MAPS = 20
"""Sitemaps on other hosts that one robots.txt may name: they are read whether or not the scope covers them."""
ENOUGH_FAILED = 4
"""When so many URLs of a host fail at their first fetch, with no response between them, the host is down."""
_MOST_HOSTS = 50_000


@dataclass(frozen=True, slots=True)
class ListPolicy:
    """How sitemaps and feeds are used."""

    sitemaps: bool = True  # fetch those that a robots.txt names
    follows_feeds: bool = False  # fetch a feed again when it asks for that


@dataclass(frozen=True, slots=True)
class Measures:
    """What the end of a fetch is judged by."""

    chance: Chance
    retry: Retry
    keeping: RobotsKeeping
    lists: ListPolicy = ListPolicy()
    revisits: Revisits | None = None
    """None: a fetched page is not fetched again."""


class Followed(msgspec.Struct, frozen=True):
    """A fetch that is done and read, and waits to be written."""

    visit: Visit
    outcome: Outcome
    done_at: Instant
    read: ReadDone | None = None
    lost: Reason | None = None
    """Why its reading failed, if it did; the capture is kept anyway."""
    learned: Learned | None = None
    is_host_down: bool = False
    """It failed because its host is down."""
    cpu_s: float = 0.0
    """CPU time for reading it."""

    @property
    def reason(self) -> Reason:
        return self.lost or (Reason.SOFT_404 if self.is_no_page else reason_of(self.outcome))

    @property
    def end(self) -> FetchEnd:
        return FetchEnd(self.visit, self.outcome, self.reason, self.done_at, self.read)

    @property
    def is_no_page(self) -> bool:
        """It is an error page with status 200."""
        return self.learned is not None and bool(self.learned.no_page)


class Outages:
    """Tells a host that is down from pages that are broken. A crawler has one.

    A broken page is retried and fails again, and may by then be all that its host has left: many failures in a row
    prove nothing. Many URLs that never failed before do.
    """

    def __init__(self) -> None:
        self._failing: dict[str, tuple[int, Instant]] = {}
        """By host: how many URLs failed at their first fetch since it last responded, and since when."""

    def is_down(self, visit: Visit, outcome: Outcome, at: Instant, retry: Retry) -> bool:
        """Whether this fetch failed because of the host. REQUIRES: called once for each fetch, in order."""
        if visit.kind is VisitKind.ROBOTS:
            return False
        name, reason = visit.url.host.name, reason_of(outcome)
        if reason not in TRANSIENT or reason in PAGE_ERRORS:
            if capture_of(outcome) is not None:
                self._failing.pop(name, None)
            return False
        since_then = visit.host_failing_since if visit.host_failing else None  # which outlives a restart
        failed, since = self._failing.pop(name, (0, at if since_then is None else min(at, since_then)))
        failed += visit.failures == 0
        self._failing[name] = (failed, since)
        if len(self._failing) > _MOST_HOSTS:
            del self._failing[next(iter(self._failing))]
        if reason in NEVER_THE_PAGE and is_host_fault(reason, visit.host_failing, visit.host_failing_since, at, retry):
            return True
        return failed >= ENOUGH_FAILED and at - since < retry.host_patience_s * SECOND


def settled(followed: Followed, place: Place | None, measures: Measures) -> Settled:
    """What the frontier stores. REQUIRES: the record at `place` has been synced."""
    visit, outcome, done_at = followed.visit, followed.outcome, followed.done_at
    capture = capture_of(outcome)
    reason = followed.reason
    respelt = respelt_by(followed)
    detail = followed.learned.no_page if followed.learned and followed.is_no_page else detail_of(outcome)
    free_at = 0 if isinstance(outcome, Refused) else free_after(visit, done_at)
    again = later(again_at(followed, measures.lists), free_at)
    retried = later(retried_at(followed, reason, measures), free_at)
    plan = planned(followed, respelt, retried, measures.revisits)
    return Settled(
        visit,
        reason,
        done_at,
        detail=detail if again is None else f"{FOLLOWED}: {detail}" if detail else FOLLOWED,
        took_s=capture.took_s if capture else 0.0,
        cpu_s=followed.cpu_s,
        due_at=done_at if respelt else retried or again or plan.due_at,
        host_wait_s=outcome.wait_s if isinstance(outcome, Failed) else None,
        offers=() if respelt else offers_of(followed, measures.lists, measures.revisits is not None),
        kept=kept_of(followed, place),
        withdraws=followed.read is not None and bool(followed.read.reading) and not followed.read.is_page,
        robots=robots_of(followed, measures.keeping),
        yielded=followed.learned.yielded if followed.learned else None,
        respelt=respelt,
        is_host_fault=followed.is_host_down,
        past=plan.past,
        busy_s=busy_s(capture) if capture else None,
    )


def later(due_at: Instant | None, free_at: Instant) -> Instant | None:
    return None if due_at is None else max(due_at, free_at)


def busy_s(capture: Capture) -> float:
    """How long its host was busy with a response. One that was cut at a limit of ours counts up to its head: an endless
    body says nothing about the host, and must not block it."""
    return capture.head_s if capture.truncated in (Truncated.TIME, Truncated.LENGTH) else capture.took_s


def planned(followed: Followed, respelt: Url | None, retried: Instant | None, revisits: Revisits | None) -> NextFetch:
    """When the page is due again, in a crawl with revisits. A failure is retried first."""
    past = followed.visit.past
    if respelt is not None:
        return NextFetch(past.without_body()) if past is not None else NextFetch()
    return NextFetch() if revisits is None or retried is not None else revisits.plan(followed.end)


def respelt_by(followed: Followed) -> Url | None:
    """Where it redirects to, when that is another spelling of the same URL, such as /index.html to /. Both have the
    same key, so the target would count as known, and never be fetched."""
    visit, outcome = followed.visit, followed.outcome
    if not isinstance(outcome, Moved) or visit.kind is VisitKind.ROBOTS or outcome.to == visit.url:
        return None
    return outcome.to if identity_of(outcome.to.text) == identity_of(visit.url.text) else None


def again_at(followed: Followed, lists: ListPolicy) -> Instant | None:
    """When a feed is fetched again, in a crawl that follows feeds: also one whose response was no feed this time,
    unless it has moved, is gone for good, or is refused."""
    if not lists.follows_feeds:
        return None
    listing = followed.read.listing if followed.read else None
    again_s = listing.again_s if listing is not None else None
    if again_s is None:
        if not followed.visit.is_followed or is_over(followed.outcome):
            return None
        again_s = AGAIN_S
    return followed.done_at + math.ceil(again_s * SECOND)


def is_over(outcome: Outcome) -> bool:
    capture = capture_of(outcome)
    return isinstance(outcome, Moved | Refused) or (capture is not None and capture.status == 410)


def retried_at(followed: Followed, reason: Reason, measures: Measures) -> Instant | None:
    """When to retry after a failure. The longer the host must rest, the later: URLs that were not fetched yet go first,
    and show whether the host is down."""
    visit, outcome, retry = followed.visit, followed.outcome, measures.retry
    chance = measures.chance.random()
    due_at = next_due(visit.failures, reason, followed.done_at, chance, retry, followed.is_host_down)
    if due_at is None or visit.failures:
        return due_at
    wait_s = (outcome.wait_s if isinstance(outcome, Failed) else None) or 0.0
    delay_s = (visit.robots.crawl_delay_s if visit.robots else None) or 0.0
    rest_s = ENOUGH_FAILED * wait_s + 2.0**ENOUGH_FAILED * delay_s  # its gap doubles with each failure
    return due_at + math.ceil(min(rest_s, retry.cap_s) * SECOND) if rest_s > 0 else due_at  # not NaN


def detail_of(outcome: Outcome) -> str:
    match outcome:
        case Refused() | Failed():
            return outcome.detail
        case Moved():
            return outcome.to.text
        case Fetched(capture=capture) if capture.truncated is Truncated.LENGTH:
            return "only its beginning was kept: it is longer than a body may be (fetch.body_limit)"
        case _:
            return ""


def offers_of(followed: Followed, lists: ListPolicy, is_revisited: bool = False) -> tuple[Offer, ...]:
    """The URLs it leads to; the rules decide about each when it is offered."""
    visit, outcome, read = followed.visit, followed.outcome, followed.read
    if isinstance(outcome, Moved) and visit.kind is not VisitKind.ROBOTS:
        how = visit.how if visit.how in MAPS else How.REDIRECT
        return (Offer(outcome.to, how, visit.url.id, visit.depth, visit.hops + 1),)
    if read is None or followed.is_no_page:
        return ()
    if visit.kind is VisitKind.ROBOTS:
        return maps_of(visit, read) if lists.sitemaps else ()
    source, depth = visit.url.id, visit.depth + 1
    if read.listing is not None:
        return listed(visit, read.listing, is_revisited)
    return tuple([Offer(Url(text), How.LINK, source, depth) for text in read.links])


def maps_of(visit: Visit, read: ReadDone) -> tuple[Offer, ...]:
    """The sitemaps that a robots.txt names."""
    named = read.robots.sitemaps if read.robots else ()
    urls = dict.fromkeys([url for text in named if (url := url_of(text, visit.url)) is not None])
    foreign = [url for url in urls if url.host != visit.url.host]
    too_many = frozenset(foreign[MOST_FOREIGN_MAPS:])
    return tuple([Offer(url, How.ROBOTS, visit.url.id) for url in urls if url not in too_many])


def listed(visit: Visit, listing: Listing, is_revisited: bool = False) -> tuple[Offer, ...]:
    """The entries of a sitemap or feed. One for another host counts only if that host's own robots.txt, which the
    frontier knows, names the sitemap or its index. Entries of feeds are links like any other."""
    source, depth = visit.url.id, visit.depth if listing.kind == "index" else visit.depth + 1
    how = {"index": How.MAP, "sitemap": How.SITEMAP}.get(listing.kind, How.FEED)
    via = None if how is How.FEED else visit.url
    new = frozenset(news_in(visit, listing)) if is_revisited else frozenset[Listed]()
    return tuple(
        [
            Offer(
                stripped(one.url),
                how,
                source,
                depth,
                0,
                one.hint,
                via if one.is_foreign else None,
                ListClaim(one.changed_at, one.every_s) if one in new else None,
            )
            for one in listing.entries
        ]
    )


def kept_of(followed: Followed, place: Place | None) -> Kept | None:
    capture, done = capture_of(followed.outcome), followed.read
    if capture is None or done is None or place is None:
        return None
    return kept_at(place, capture, done)


def robots_of(followed: Followed, keeping: RobotsKeeping) -> Robots | None:
    if followed.visit.kind is not VisitKind.ROBOTS:
        return None
    parsed = followed.read.robots if followed.read else None
    return entry_of(followed.visit, followed.outcome, parsed, followed.done_at, keeping)
