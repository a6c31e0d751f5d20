"""What visits have found out that concerns other pages: kept in memory, and little of it."""

from collections.abc import Iterable

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url

MOST_CHANGED = 20_000
MOST_BELOW = 50_000
MOST_LISTED = 50_000


class News(msgspec.Struct, frozen=True):
    changed: tuple[Url, ...] = ()
    """Pages found changed, the first first."""
    below: tuple[Url, ...] = ()
    """Pages of the same host that pages found changed link to, to be looked at themselves (`tree`)."""
    listed: tuple[tuple[Url, Instant], ...] = ()
    """Pages that a sitemap or feed of theirs says have changed, and when."""


class Novelties:
    """Told by the thread that plans, asked by the one that sweeps. What is beyond the limits is forgotten: those pages
    come when their time comes."""

    def __init__(self) -> None:
        self._changed: dict[Url, None] = {}
        self._below: dict[Url, None] = {}
        self._listed: dict[Url, Instant] = {}

    def found(self, url: Url, links: Iterable[str] = ()) -> None:
        """A page has changed; `links`: where it leads, when those pages are to be looked at."""
        if len(self._changed) < MOST_CHANGED:
            self._changed[url] = None
        own = (f"https://{url.host.name}/", f"http://{url.host.name}/")
        for link in links:
            if link.startswith(own) and len(self._below) < MOST_BELOW:
                self._below[Url(link)] = None

    def told(self, dates: Iterable[tuple[Url, Instant]]) -> None:
        """A list of their own host says that these pages changed then."""
        for url, changed_at in dates:
            if len(self._listed) < MOST_LISTED:
                self._listed[url] = changed_at

    def taken(self) -> News:
        changed, self._changed = self._changed, {}
        below, self._below = self._below, {}
        listed, self._listed = self._listed, {}
        return News(tuple(changed), tuple(below), tuple(listed.items()))
