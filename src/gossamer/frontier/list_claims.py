"""What sitemaps and feeds say of the changes of the pages they list. Pure; shared by every frontier."""

from collections.abc import Callable, Sequence

from gossamer.base.clock import Instant
from gossamer.values.link import ListClaim, Offer

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


def said_of(changed_at: Instant | None, every_s: int | None) -> ListClaim | None:
    return None if changed_at is None and every_s is None else ListClaim(changed_at, every_s)
