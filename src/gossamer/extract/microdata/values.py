"""The term that an element with @itemprop stands for, unless it is an item ("Microdata to RDF", 4.1, property value).

@content counts on every element, as in HTML Microdata since 2017; pages and the schema.org examples have always used it
so. Where the attribute that ought to hold the value is not there, the words inside do.
"""

import re

from gossamer.extract.microdata.items import Property
from gossamer.extract.moments import kind_of_moment
from gossamer.extract.terms import XSD, absolute, iri_term, quoted, typed_literal

_ADDRESS_IN = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_NUMBERS = ("data", "meter")
_INTEGER = re.compile(r"-?[0-9]+").fullmatch
_DOUBLE = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch


def value_of(found: Property, base: str) -> str | None:
    """None when nothing usable is there. REQUIRES: the element is no item."""
    attributes = found.attributes
    if "content" in attributes:
        return quoted(attributes["content"] or "") + found.language
    if (place := _ADDRESS_IN.get(found.tag)) is not None:
        if place in attributes:
            address = absolute(attributes[place] or "", base)
            return None if address is None else iri_term(address)
        words = found.element.text()
        return quoted(words) + found.language if words.strip() else None
    if found.tag == "meta":
        return None
    if found.tag in _NUMBERS and "value" in attributes:
        return _number(attributes["value"] or "")
    if found.tag == "time":
        words = (attributes["datetime"] or "") if "datetime" in attributes else found.element.text()
        kind = kind_of_moment(words)
        return quoted(words) + found.language if kind is None else typed_literal(words, kind)
    return quoted(found.element.text()) + found.language


def _number(said: str) -> str:
    if _INTEGER(said):
        return typed_literal(said, f"<{XSD}integer>")
    if _DOUBLE(said):
        return typed_literal(said, f"<{XSD}double>")
    return quoted(said)
