"""What sitemaps and feeds say of the changes of the pages they list. Pure; shared by every frontier."""

import sqlite3
from collections.abc import Callable, Sequence

from gossamer.base.clock import Instant
from gossamer.frontier.sqlite.hosts import find_host_id, parts_of
from gossamer.frontier.sqlite.known import known
from gossamer.frontier.sqlite.robots import Rulebook
from gossamer.frontier.sqlite.sieve import Keys
from gossamer.values.link import How, Offer, Said
from gossamer.values.url import url_of

LONGEST_S = 10 * 365 * 86_400
SaidRow = tuple[int, Instant | None, int | None]
"""The id of an address, and what is said of it."""


def said_rows(offers: Sequence[Offer], host: str, key_of: Callable[[str], int]) -> list[SaidRow]:
    """Of a list's own host, sorted by id: nobody speaks here for another host."""
    found: dict[int, SaidRow] = {}
    for offer in offers:
        said = offer.said
        if said is not None and offer.url.host.name == host:
            every_s = None if said.every_s is None else round(max(0.0, min(said.every_s, LONGEST_S)))
            number = key_of(offer.url.text)
            found[number] = (number, said.changed_at, every_s)
    return sorted(found.values(), key=lambda row: row[0])


def said_of(changed_at: Instant | None, every_s: int | None) -> Said | None:
    return None if changed_at is None and every_s is None else Said(changed_at, every_s)


# Who may speak for an address: a sitemap on another host only when the address's own robots.txt names it.


def is_vouched_for(connection: sqlite3.Connection, rulebook: Rulebook, offer: Offer, keys: Keys) -> bool:
    """Whether an offer needs nobody to vouch for it, or the robots.txt known for its origin names its sitemap.

    (The sitemap protocol, "Sitemaps & Cross Submits".) Who names an index speaks for the sitemaps that it names. While
    that robots.txt is not known, nobody vouches; when it is read, the sitemap is read again.
    """
    via = offer.via
    if via is None or via.host == offer.url.host:
        return True
    lane, name, _ = parts_of(offer.url.text)
    host_id = find_host_id(connection, name)
    robots = None if host_id is None else rulebook.entry(connection, host_id, lane)
    if robots is None:
        return False
    if via.text in robots.sitemaps or via in (named := {url_of(text) for text in robots.sitemaps}):
        return True
    found = known(connection, via, keys.url_id, keys.identity) if named else None
    return found is not None and found.how is How.MAP and found.source in named
