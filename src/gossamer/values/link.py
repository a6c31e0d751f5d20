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
