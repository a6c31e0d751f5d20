"""Addresses met on the way: links in pages, and offers to the frontier."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url


class How(StrEnum):
    """How an address was come by; stored with it, for `why`."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    SITEMAP = "sitemap"
    FEED = "feed"
    ROBOTS = "robots"  # a sitemap that a robots.txt names
    MAP = "map"  # a sitemap that a sitemap index names


LISTS = frozenset((How.SITEMAP, How.FEED))
"""What lists name: with a word, perhaps, of when it changed."""


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An address found on a page, with the text of the link."""

    url: Url
    text: str
    may_follow: bool = True


class ListClaim(msgspec.Struct, frozen=True, array_like=True):
    """What a sitemap or a feed says of a page's changes; at least one of the two."""

    changed_at: Instant | None = None
    every_s: float | None = None


class Offer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An address given to the frontier, perhaps new to it: how it was come by, from which address, how deep."""

    url: Url
    how: How
    source_id: int | None = None
    depth: int = 0
    hops: int = 0
    """Length of the redirect chain that led here."""
    hint: int = 0
    """How much sooner (below zero) or later it should be visited than its place alone says; from -4 to 4."""
    via: Url | None = None
    """The sitemap that lists it, when that is on another host: only a sitemap which the robots.txt of the address's
    own origin names may speak for it."""
    said: ListClaim | None = None
    """What the list that it stands in says of its changes, in a crawl that comes back to pages."""
