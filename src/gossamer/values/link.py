"""Links found on pages, and offers of URLs to the frontier."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url


class How(StrEnum):
    """How a URL was found; stored with it, for `why`."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    FEED = "feed"
    ROBOTS = "robots"  # a sitemap that a robots.txt names
    MAP = "map"  # a sitemap that a sitemap index names


LISTS = frozenset((How.SITEMAP, How.FEED))
"""Found in a list, which may also say when the page changed."""


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link on a page, with its text."""

    url: Url
    text: str
    may_follow: bool = True


class ListClaim(msgspec.Struct, frozen=True, array_like=True):
    """What a sitemap or feed says about changes of a page; at least one of the two."""

    changed_at: Instant | None = None
    every_s: float | None = None


class Offer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A URL offered to the frontier, which may know it: how it was found, where, and how deep."""

    url: Url
    how: How
    source_id: int | None = None
    depth: int = 0
    hops: int = 0
    """Length of the redirect chain that led here."""
    hint: int = 0
    """How much earlier (negative) or later it should be fetched than its depth alone says; from -4 to 4."""
    via: Url | None = None
    """The sitemap that lists it, if on another host: it counts only if the robots.txt of the URL's own origin names
    it."""
    claim: ListClaim | None = None
    """What that list says about its changes, in a crawl that revisits pages."""
