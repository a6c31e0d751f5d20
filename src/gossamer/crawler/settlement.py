"""What became of a visit, as the frontier is to write it down: its end, when again, and where it led to. Pure."""

import math
from dataclasses import dataclass

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import Chance
from gossamer.config.slices import RobotsKeeping
from gossamer.crawler.revisit import FetchEnd, NextFetch, Returning, free_after, news_in
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
"""No address can be the cause of these."""
AGAIN_S = 3600.0
"""How long a feed is left alone that did not say."""
MOST_FOREIGN_MAPS = 20
"""Sitemaps on other hosts that a robots.txt may send us to: they are read whether or not the crawl reaches there."""
ENOUGH_FAILED = 4
"""Addresses of a host that fail at their first visit, with no answer between them: then the host is down."""
_MOST_HOSTS = 50_000


@dataclass(frozen=True, slots=True)
class ListPolicy:
    """What is made of lists of addresses."""

    sitemaps: bool = True  # those that a robots.txt names are visited too
    follows_feeds: bool = False  # come back to a feed when it asks for it


@dataclass(frozen=True, slots=True)
class Measures:
    """What an end is judged by."""

    chance: Chance
    retry: Retry
    keeping: RobotsKeeping
    lists: ListPolicy = ListPolicy()
    returning: Returning | None = None
    """None: a page that was fetched is not visited again."""


class Followed(msgspec.Struct, frozen=True):
    """A visit that has been made and read, and waits to be put on disk."""

    visit: Visit
    outcome: Outcome
    done_at: Instant
    read: ReadDone | None = None
    lost: Reason | None = None
    """Why its reading failed, when it did; the capture is kept all the same."""
    learned: Learned | None = None
    is_host_down: bool = False
    """It failed, and not by its own fault."""
    cpu_s: float = 0.0
    """CPU time that reading it took."""

    @property
    def reason(self) -> Reason:
        return self.lost or (Reason.SOFT_404 if self.is_no_page else reason_of(self.outcome))

    @property
    def end(self) -> FetchEnd:
        return FetchEnd(self.visit, self.outcome, self.reason, self.done_at, self.read)

    @property
    def is_no_page(self) -> bool:
        """It answers, but only to say that there is no such page."""
        return self.learned is not None and bool(self.learned.no_page)


class Outages:
    """Tells a host that is down from pages that are broken. One for a crawler; it asks nobody.

    A broken page is tried again, fails again, and by then may be all that its host has left: many failures in a row
    prove nothing. Many addresses that never failed before do.
    """

    def __init__(self) -> None:
        self._failing: dict[str, tuple[int, Instant]] = {}
        """By host: how many addresses failed at their first visit since it last answered one, and since when."""

    def is_down(self, visit: Visit, outcome: Outcome, at: Instant, retry: Retry) -> bool:
        """To be told of every visit once, in order; whether the host was at fault in this one."""
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
    """What the frontier writes down of it. REQUIRES: what `place` names has been synced."""
    visit, outcome, done_at = followed.visit, followed.outcome, followed.done_at
    capture = capture_of(outcome)
    reason = followed.reason
    respelt = respelt_by(followed)
    detail = followed.learned.no_page if followed.learned and followed.is_no_page else detail_of(outcome)
    free_at = 0 if isinstance(outcome, Refused) else free_after(visit, done_at)
    again = later(again_at(followed, measures.lists), free_at)
    retried = later(retried_at(followed, reason, measures), free_at)
    plan = planned(followed, respelt, retried, measures.returning)
    return Settled(
        visit,
        reason,
        done_at,
        detail=detail if again is None else f"{FOLLOWED}: {detail}" if detail else FOLLOWED,
        took_s=capture.took_s if capture else 0.0,
        cpu_s=followed.cpu_s,
        due_at=done_at if respelt else retried or again or plan.due_at,
        host_wait_s=outcome.wait_s if isinstance(outcome, Failed) else None,
        offers=() if respelt else offers_of(followed, measures.lists, measures.returning is not None),
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
    """How long its host was busy with an answer. One that was cut at a limit of ours counts up to its head: how long a
    body would have gone on says nothing of the host, and an endless one must not silence it."""
    return capture.head_s if capture.truncated in (Truncated.TIME, Truncated.LENGTH) else capture.took_s


def planned(followed: Followed, respelt: Url | None, retried: Instant | None, returning: Returning | None) -> NextFetch:
    """When the page comes again, in a crawl that comes back to pages. A failure is retried first."""
    past = followed.visit.past
    if respelt is not None:
        return NextFetch(past.without_body()) if past is not None else NextFetch()
    return NextFetch() if returning is None or retried is not None else returning.plan(followed.end)


def respelt_by(followed: Followed) -> Url | None:
    """Where it redirects to, when that is another spelling of the same address: /index.html to /, say. Under the key
    of an address both are one, so the target would be taken for known, and never be asked for."""
    visit, outcome = followed.visit, followed.outcome
    if not isinstance(outcome, Moved) or visit.kind is VisitKind.ROBOTS or outcome.to == visit.url:
        return None
    return outcome.to if identity_of(outcome.to.text) == identity_of(visit.url.text) else None


def again_at(followed: Followed, lists: ListPolicy) -> Instant | None:
    """When a feed is looked at again, in a crawl that follows feeds: also one that did not answer as a feed this time,
    unless it has moved, is gone for good, or may not be asked for."""
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
    """When to try again after a failure. The longer the host is left alone meanwhile, the later: addresses that have
    not been asked for yet go first, and show whether it is the host that is down."""
    visit, outcome, retry = followed.visit, followed.outcome, measures.retry
    chance = measures.chance.random()
    due_at = next_due(visit.failures, reason, followed.done_at, chance, retry, followed.is_host_down)
    if due_at is None or visit.failures:
        return due_at
    wait_s = (outcome.wait_s if isinstance(outcome, Failed) else None) or 0.0
    delay_s = (visit.robots.crawl_delay_s if visit.robots else None) or 0.0
    rests_s = ENOUGH_FAILED * wait_s + 2.0**ENOUGH_FAILED * delay_s  # its gap doubles with each failure
    return due_at + math.ceil(min(rests_s, retry.cap_s) * SECOND) if rests_s > 0 else due_at  # not NaN


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


def offers_of(followed: Followed, lists: ListPolicy, comes_back: bool = False) -> tuple[Offer, ...]:
    """New addresses: they will face the rules themselves."""
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
        return listed(visit, read.listing, comes_back)
    return tuple([Offer(Url(text), How.LINK, source, depth) for text in read.links])


def maps_of(visit: Visit, read: ReadDone) -> tuple[Offer, ...]:
    """The sitemaps that a robots.txt names."""
    named = read.robots.sitemaps if read.robots else ()
    urls = dict.fromkeys([url for text in named if (url := url_of(text, visit.url)) is not None])
    foreign = [url for url in urls if url.host != visit.url.host]
    too_many = frozenset(foreign[MOST_FOREIGN_MAPS:])
    return tuple([Offer(url, How.ROBOTS, visit.url.id) for url in urls if url not in too_many])


def listed(visit: Visit, listing: Listing, comes_back: bool = False) -> tuple[Offer, ...]:
    """What a sitemap or a feed lists. For an address of another host, a sitemap's too, the sitemap or index must be
    named by that host's own robots.txt, which the frontier knows; what a feed lists is a link like any other."""
    source, depth = visit.url.id, visit.depth if listing.kind == "index" else visit.depth + 1
    how = {"index": How.MAP, "sitemap": How.SITEMAP}.get(listing.kind, How.FEED)
    speaker = None if how is How.FEED else visit.url
    new = frozenset(news_in(visit, listing)) if comes_back else frozenset[Listed]()
    return tuple(
        [
            Offer(
                stripped(one.url),
                how,
                source,
                depth,
                0,
                one.hint,
                speaker if one.is_foreign else None,
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
