"""Who may speak for an address: a sitemap on another host only when the address's own robots.txt names it."""

import sqlite3

from gossamer.frontier.hosts import find_host_id, parts_of
from gossamer.frontier.rulebook import Rulebook
from gossamer.values.link import Offer
from gossamer.values.url import url_of


def is_vouched_for(connection: sqlite3.Connection, rulebook: Rulebook, offer: Offer) -> bool:
    """Whether an offer needs nobody to vouch for it, or the robots.txt known for its origin names its sitemap.

    (The sitemap protocol, "Sitemaps & Cross Submits".) While that robots.txt is not known, nobody vouches.
    """
    via = offer.via
    if via is None or via.host == offer.url.host:
        return True
    lane, name, _ = parts_of(offer.url.text)
    host_id = find_host_id(connection, name)
    robots = None if host_id is None else rulebook.entry(connection, host_id, lane)
    if robots is None:
        return False
    return via.text in robots.sitemaps or via in {url_of(named) for named in robots.sitemaps}
