"""Which URLs that were fetched or refused wait again, and until when. Pure; both stores of the frontier go by it."""

import math
from collections.abc import Callable, Sequence
from functools import cache

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import KnownState
from gossamer.frontier.priority import MOST_NUDGE, priority_of
from gossamer.recrawl.retry import TRANSIENT
from gossamer.values.history import Past, Reschedule, packed
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Settled

MENDABLE = TRANSIENT | {Reason.ROBOTS_UNREACHABLE, Reason.CONTACT, Reason.ADDRESS, Reason.TLS}
"""Ends that a setting, a server or a network may have been mended of since."""
MOST_READ_AGAIN = 20
"""Sitemaps that one robots.txt can have read again."""


def free_at(settled_at: Instant, robots: Robots | None) -> Instant:
    """When a page may be visited again, as its host asks; 0: at any time."""
    delay_s = robots.recrawl_delay_s if robots is not None else None
    return settled_at + math.ceil(delay_s * SECOND) if delay_s else 0


def begun(settled_at: Instant, due_at: Instant) -> Past:
    """Of a page from before the crawl came back to any: if it is gone by now, the views must hear of it."""
    return Past(settled_at, due_at, is_page=True)


def newly_named(settled: Settled) -> list[Url]:
    """Sitemaps that a robots.txt names for the first time. What such a map said of this host before was nobody's word,
    or the crawl did not reach here yet."""
    before = settled.visit.robots.sitemaps if settled.visit.robots is not None else ()
    named = settled.robots.sitemaps if settled.robots is not None else ()
    urls = [url_of(text) for text in named if text not in before]
    return [url for url in urls if url is not None][:MOST_READ_AGAIN]


def sitemaps_of(robots: Robots | None) -> list[Url]:
    """Sitemaps that a robots.txt names. They may have been read when the crawl did not reach as far as it does now."""
    urls = [url_of(text) for text in robots.sitemaps] if robots is not None else []
    return [url for url in urls if url is not None][:MOST_READ_AGAIN]


def vouched_for(
    offers: Sequence[Offer],
    entry_of: Callable[[Url], Robots | None],
    known_as: Callable[[Url], KnownState | None],
) -> list[Offer]:
    """Offers that need nobody to vouch for them, and those whose sitemap the robots.txt of their own origin names.

    (The sitemap protocol, "Sitemaps & Cross Submits".) Who names an index speaks for the sitemaps that it names. While
    that robots.txt is not known, nobody vouches; when it is read, the sitemap is read again.
    """

    @cache
    def is_named(via: Url, root: Url) -> bool:
        robots = entry_of(root)
        if robots is None:
            return False
        if via.text in robots.sitemaps or via in (named := {url_of(text) for text in robots.sitemaps}):
            return True
        found = known_as(via) if named else None
        return found is not None and found.how is How.MAP and found.source in named

    return [
        one for one in offers if one.via is None or one.via.host == one.url.host or is_named(one.via, one.url.robots)
    ]


def priority_again(depth: int) -> int:
    """Before the others of its depth."""
    return priority_of(How.LINK, depth, nudge=-MOST_NUDGE)


AT_ONCE = 1_000
"""URLs moved in one transaction; between two of them a crawl takes and settles."""
FIRST = -(1 << 63)
MOST_EXAMPLES = 3
MOST_DETAILS = 10
HAD = frozenset({Reason.FETCHED, Reason.UNCHANGED})
"""Ends of pages that the views hold."""
ASKS_ROBOTS = frozenset({Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.ADDRESS, Reason.CONTACT})
"""Ends after which the robots.txt is asked for again before the URL is judged."""


def noted(past: Past, sooner: Reschedule, is_moved: bool) -> Past:
    """What is remembered of a page from now on. Pure."""
    if sooner.threshold is not None:
        history = msgspec.structs.replace(past.known, threshold=sooner.threshold)
        past = msgspec.structs.replace(past, history=packed(history))
    if sooner.link_check is not None:
        past = msgspec.structs.replace(past, link_check=sooner.link_check)
    if is_moved and sooner.due_at is not None:
        past = msgspec.structs.replace(past, due_at=sooner.due_at, why=sooner.why.value)
    return past
