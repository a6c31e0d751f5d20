"""What a change of a page means for pages linked with it (MISSION B3), decided from memory without any request."""

from collections.abc import Iterable, Sequence

import msgspec

from gossamer.base.clock import DAY_S, SECOND, Instant
from gossamer.recrawl.policies import is_called_by_links, moved_threshold
from gossamer.values.history import Look, Past
from gossamer.values.url import Url

CRAWL = round(DAY_S * SECOND)
"""The length of one crawl. In each, a page's threshold moves once, however often its links are checked."""
SOON = 600 * SECOND
"""A page that is due within this time is not rescheduled."""


class Judged(msgspec.Struct, frozen=True):
    is_called: bool
    look: Look | None = None
    """To be noted if the page is rescheduled or its threshold moves."""
    threshold: int | None = None
    """From now on; None: as before."""


def judged(page: Past, linked: Sequence[Past], now: Instant) -> Judged:
    """Whether a page is due earlier because enough of the pages it links to have changed since its last visit.

    `linked`: what is remembered of the pages of its own host that it links to; others are unknown.
    """
    if page.gone or not page.is_page or page.due_at <= now + SOON:
        return Judged(False)
    links = [one for one in linked if not one.gone]
    changed = sum(one.changed_at > page.visited_at for one in links)
    threshold = page.known.threshold
    is_called = is_called_by_links(threshold, changed, len(links))
    is_new_crawl = page.look is None or now - page.look.at >= CRAWL
    if not links or not (is_called or is_new_crawl):
        return Judged(False)
    look = Look(now, changed, len(links), threshold)
    return Judged(is_called, look, moved_threshold(threshold, changed, len(links)) if is_new_crawl else None)


def is_older(page: Past, changed_at: Instant, now: Instant) -> bool:
    """Whether a page is due earlier because a list says that it changed, unless the list already said so by the last
    visit. A date without a time means any time of that day."""
    if page.gone or page.due_at <= now + SOON or changed_at <= page.said_at:
        return False
    return page.visited_at < (changed_at + CRAWL if changed_at % CRAWL == 0 else changed_at)


def is_to_be_looked_at(page: Past, now: Instant) -> bool:
    """`tree`: whether a page below a changed one is visited now; not if this crawl has already visited it."""
    return not page.gone and page.due_at > now + SOON and now - page.visited_at >= CRAWL // 2


# Findings of visits that concern other pages: kept in memory, and bounded.

MOST_CHANGED = 20_000
MOST_BELOW = 50_000
MOST_LISTED = 50_000


class NeighbourNews(msgspec.Struct, frozen=True):
    changed: tuple[Url, ...] = ()
    """Changed pages, in the order found."""
    below: tuple[Url, ...] = ()
    """Pages of the same host that changed pages link to, to be visited themselves (`tree`)."""
    listed: tuple[tuple[Url, Instant], ...] = ()
    """Pages that have changed according to a sitemap or feed of their site, and when."""


class Novelties:
    """Written by the planning thread and read by the sweeping one, one at a time. What exceeds the limits is dropped:
    those pages keep their due times."""

    def __init__(self) -> None:
        self._changed: dict[Url, None] = {}
        self._below: dict[Url, None] = {}
        self._listed: dict[Url, Instant] = {}

    def found(self, url: Url, links: Iterable[str] = ()) -> None:
        """A page has changed; `links`: its links, if those pages are to be visited."""
        if len(self._changed) < MOST_CHANGED:
            self._changed[url] = None
        own = (f"https://{url.host.name}/", f"http://{url.host.name}/")
        for link in links:
            if link.startswith(own) and len(self._below) < MOST_BELOW:
                self._below[Url(link)] = None

    def told(self, dates: Iterable[tuple[Url, Instant]]) -> None:
        """A list of their own host says that these pages changed at these times."""
        for url, changed_at in dates:
            if len(self._listed) < MOST_LISTED:
                self._listed[url] = changed_at

    def taken(self) -> NeighbourNews:
        changed, self._changed = self._changed, {}
        below, self._below = self._below, {}
        listed, self._listed = self._listed, {}
        return NeighbourNews(tuple(changed), tuple(below), tuple(listed.items()))
