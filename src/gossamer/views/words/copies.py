"""Pages with the very same text: folded into one result, and listed here."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url
from gossamer.views.words.cards import card_at
from gossamer.views.words.snapshot import Snapshot, integers

MOST_COPIES = 100


class Copy(msgspec.Struct, frozen=True):
    url: str
    title: str
    site: str
    fetched_at: Instant


def copies_of(snapshot: Snapshot, url: Url, at_most: int = MOST_COPIES) -> list[Copy]:
    """The page itself included, in the order of their addresses; empty when it is not in the index."""
    hits = snapshot.best(snapshot.term("url_id", url.id), 1)
    copy = integers(snapshot.searcher, "copy_id", [hits[0][1]])[0] if hits else 0
    alike = snapshot.best(snapshot.term("copy_id", copy), at_most) if copy else hits
    cards = [card for _, place in alike if (card := card_at(snapshot, place)) is not None]
    found = [Copy(card.url.text, card.title, card.url.host.name, card.fetched_at) for card in cards]
    return sorted(found, key=lambda one: one.url)
