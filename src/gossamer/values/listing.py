"""What a sitemap or a feed lists, as a crawl is told it. Apart from `listings`: who only follows lists parses none."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    url: Url
    hint: int = 0
    """Below zero: sooner; see `values.link.Offer`."""
    changed_at: Instant | None = None
    """When the list says it last changed; never in the future."""
    id: str = ""
    """Feeds: the name of the item."""
    is_foreign: bool = False
    """On another host than the list itself. A map may speak for it only if that host's robots.txt names the map."""
    every_s: float | None = None
    """How often a map says it changes: a wish, to be held within the policy."""


class Listing(msgspec.Struct, frozen=True, array_like=True):
    kind: str
    """"sitemap", "index" (its entries are sitemaps) or "feed"."""
    entries: tuple[Listed, ...] = ()
    again_s: float | None = None
    """Feeds: when to look again; None for maps, which the policy for pages serves well."""
    flags: tuple[str, ...] = ()
