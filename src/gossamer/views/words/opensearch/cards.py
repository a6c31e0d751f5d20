"""What the index stores of a page: its card, which a result shows, and its texts."""

import msgspec

from gossamer.views.words.opensearch.answers import Boxed, Hit
from gossamer.views.words.opensearch.mapping import STEMS
from gossamer.views.words.schema import Card

CARD = ["card"]
_CARDS = msgspec.json.Decoder(Boxed[Card])


def sources(*fields: str) -> list[str]:
    """The names under which these texts and the card are stored."""
    return [*CARD, *(name for field in fields for name in (field, *(f"{field}_{stem}" for stem in STEMS)))]


def card_of(hit: Hit) -> Card | None:
    """None when there is none, or it cannot be read."""
    packed = hit.source.get("card")
    try:
        return _CARDS.decode(packed).of if packed is not None else None
    except msgspec.MsgspecError:
        return None


def text_of(hit: Hit, field: str) -> str:
    """A text of the page, in whichever language; empty without one."""
    for name, packed in hit.source.items():
        if name == field or (name.startswith(f"{field}_") and name[len(field) + 1 :] in STEMS):
            try:
                return msgspec.json.decode(packed, type=str)
            except msgspec.MsgspecError:
                return ""
    return ""
