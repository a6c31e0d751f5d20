"""The card of an entry: what a result shows of a page.

A page that is gone, or asks not to be indexed, has an entry without words and without a card: it only holds the place
against older captures. It has a `url_id` and a `fetched_at`, so whatever asks by one of these, or for all entries, must
ask for `WITH_WORDS` too. An entry that has words and no card that can be read is damaged; a reader goes on
without it and counts it.
"""

import msgspec
import tantivy

from gossamer.views.words.schema import Card
from gossamer.views.words.snapshot import Snapshot

WITH_WORDS = tantivy.Query.const_score_query(tantivy.Query.exists_query("copy_id"), 0.0)
"""Finds the entries of pages that can be found; adds nothing to a score."""

_CARDS = msgspec.msgpack.Decoder(Card)


def entry_at(snapshot: Snapshot, place: tantivy.DocAddress) -> tantivy.Document | None:
    """What is stored of one entry; None when it cannot be read."""
    try:
        return snapshot.searcher.doc(place)
    except (ValueError, OSError):
        return None


def card_in(entry: tantivy.Document | None) -> Card | None:
    """None when the entry has no card, or none that can be read."""
    packed = entry.get_first("card") if entry is not None else None
    try:
        return None if packed is None else _CARDS.decode(bytes(packed))
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None


def card_at(snapshot: Snapshot, place: tantivy.DocAddress) -> Card | None:
    return card_in(entry_at(snapshot, place))
