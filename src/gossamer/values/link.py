"""Addresses met on the way: links in pages, and offers to the frontier."""

from enum import StrEnum

import msgspec

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


class Link(msgspec.Struct, frozen=True, array_like=True):
    """An address found on a page, with the text of the link."""

    url: Url
    text: str
    may_follow: bool = True


class Offer(msgspec.Struct, frozen=True, array_like=True):
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
