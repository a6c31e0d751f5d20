"""A page as a document of the index in OpenSearch: made from a reading, and read again for a result."""

from typing import Any

import msgspec

from gossamer.values.page import Reading
from gossamer.values.url import id_of
from gossamer.views.words.opensearch.answers import Boxed, Document
from gossamer.views.words.opensearch.index import LONGEST_KEYWORD, STEMS, stemmed
from gossamer.views.words.schema import Card, Pointers, key_of, supertypes_of
from gossamer.views.words.writer import (
    MOST_TYPES,
    card_of,
    entities_of,
    filters_of,
    pointers_of,
    without_surrogates,
    words_of,
)

UNKNOWN = "en"
"""How words are stemmed on a page in an unknown language."""
_ENCODER = msgspec.json.Encoder()


def document_of(reading: Reading) -> bytes:
    """A page that asks not to be indexed becomes a tombstone, which keeps older captures out."""
    try:
        return _ENCODER.encode(_filled(reading))
    except UnicodeEncodeError:  # a lone surrogate
        return _ENCODER.encode(_filled(without_surrogates(reading)))


def tombstone(url_id: int, fetched_at: int) -> bytes:
    """A document without words."""
    return _ENCODER.encode({"url_id": url_id, "fetched_at": fetched_at})


def _filled(reading: Reading) -> dict[str, Any]:
    page = reading.page
    found: dict[str, Any] = {"url_id": page.url.id, "fetched_at": reading.fetched_at}
    if not page.directives.may_index:
        return found
    inferred = supertypes_of(reading.types[:MOST_TYPES])
    entities = entities_of(reading)
    pointers = pointers_of(page)
    host = page.url.host.name
    for field, values in filters_of(reading, inferred).items():
        found[field] = [value for value in values if len(value) <= LONGEST_KEYWORD]
    texts = {field: "\n".join(values) for field, values in words_of(page).items() if values}
    if signs := texts.pop("signs", ""):
        found["signs"] = signs
    texts["names"] = "\n".join([entity.name for entity in entities])
    texts["pointing"] = "\n".join([words for _, words in pointers])
    language = page.language or UNKNOWN
    found |= {stemmed(field, language): text for field, text in texts.items() if text}
    found["host"] = host
    found["copy"] = page.exact[:8].hex() or f"only {page.url.id}"
    if entities:
        found["entities"] = [key_of(entity, host) for entity in entities]
    if pointers:
        found["pointers"] = {"of": Pointers(host, tuple([(id_of(target), words) for target, words in pointers]))}
    found["card"] = {"of": card_of(reading, inferred, entities)}
    return found


CARD = ["card"]
_CARDS = msgspec.json.Decoder(Boxed[Card])


def sources(*fields: str) -> list[str]:
    """The names under which these texts and the card are stored."""
    return [*CARD, *(name for field in fields for name in (field, *(f"{field}_{stem}" for stem in STEMS)))]


def card_in(hit: Document) -> Card | None:
    """None when there is none, or it cannot be read."""
    packed = hit.source.get("card")
    try:
        return _CARDS.decode(packed).of if packed is not None else None
    except msgspec.MsgspecError:
        return None


def text_in(hit: Document, field: str) -> str:
    """A text of the page, in whichever language; empty without one."""
    for name, packed in hit.source.items():
        if name == field or (name.startswith(f"{field}_") and name[len(field) + 1 :] in STEMS):
            try:
                return msgspec.json.decode(packed, type=str)
            except msgspec.MsgspecError:
                return ""
    return ""
