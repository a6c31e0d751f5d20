"""The plainest JSON-LD, which is most of it, read without a parser: things of schema.org in one another.

A script whose only context is schema.org's, given by reference, and that holds nothing but types, addresses, words,
numbers and such things again can be told as it is walked. Whatever else stands in it is left to the parser, the whole
script with it: both would say the same, at a quarter of the price.
"""

import re
from collections.abc import Iterable

from gossamer.extract import schema_org
from gossamer.extract.jsonld_local import Json
from gossamer.extract.terms import RDF_TYPE, XSD, Labels, typed_literal
from gossamer.values.page import Triple, made

DEEPEST = 16
LARGEST_NUMBER = 1 << 53
"""Beyond it numbers are no integers to everybody."""

_INTEGER = f"<{XSD}integer>"
_BOOLEAN = f"<{XSD}boolean>"
_DATE = f"<{schema_org.VOCABULARY}Date>"
_BESIDE_PROPERTIES = frozenset(("@type", "@id"))
_WHOLE = re.compile(
    r"(?:https?:)?//[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9_~./-]*)?(?:\?[A-Za-z0-9_~.=&-]*)?(?:#[A-Za-z0-9_~.-]*)?"
)
"""Addresses that stay as they are when they are resolved, but for a scheme that is left out."""
_PATH = re.compile(r"/(?!/)[A-Za-z0-9_~./-]*(?:\?[A-Za-z0-9_~.=&-]*)?(?:#[A-Za-z0-9_~.-]*)?")


class _NotPlain(Exception):
    """Inside this module only: this needs the parser."""


def plainly_stated(root: Json, base: str, labels: Labels, at_most: int) -> list[Triple] | None:
    """The facts of a decoded script; None when only the parser can tell. REQUIRES: `base` is an http(s) address without
    fragment. Nothing of the script is changed, and no label is used up in vain."""
    trial = labels.copy()
    stating = _Stating(base, trial)
    try:
        for node in _nodes_of(root):
            stating.tell(stating.named(node), node, 1)
    except _NotPlain:
        return None
    if len(stating.triples) > at_most:
        return None
    labels.go_on_after(trial)
    return stating.triples


def _nodes_of(root: Json) -> list[dict[str, Json]]:
    """What stands outermost, without its context."""
    nodes = []
    for one in root if root.__class__ is list else (root,):
        context = one.get("@context") if one.__class__ is dict else None
        if context.__class__ is not str or not schema_org.IS_SCHEMA_ORG(context):
            raise _NotPlain
        node = {key: value for key, value in one.items() if key != "@context"}
        inside = node["@graph"] if len(node) == 1 and "@graph" in node else [node]
        if inside.__class__ is not list or not all(each.__class__ is dict and each for each in inside):
            raise _NotPlain
        nodes.extend(inside)
    return nodes


class _Stating:
    def __init__(self, base: str, labels: Labels) -> None:
        self.triples: list[Triple] = []
        self._labels = labels
        self._scheme = base[: base.index("/")]
        self._origin = "/".join(base.split("/", 3)[:3])

    def named(self, node: dict[str, Json]) -> str:
        """The term that an object stands for."""
        return self._address(node["@id"]) if "@id" in node else self._labels.new()

    def tell(self, subject: str, node: dict[str, Json], depth: int) -> None:
        """Types first, and what is inside a value right after it: the order of the parser."""
        if depth > DEEPEST:
            raise _NotPlain
        state = self.triples.append
        if "@type" in node:
            for kind in self._kinds(node["@type"]):
                state(made(Triple, (subject, RDF_TYPE, kind)))
        for key, value in node.items():
            if key in _BESIDE_PROPERTIES:
                continue
            if not (key.isalnum() and key.isascii()) or key in schema_org.ALIASES:
                raise _NotPlain
            predicate = f"<{schema_org.VOCABULARY}{key}>"
            for one in _several(value):
                if one.__class__ is dict:
                    thing = self.named(one)
                    state(made(Triple, (subject, predicate, thing)))
                    self.tell(thing, one, depth + 1)
                else:
                    state(made(Triple, (subject, predicate, self._value(key, one))))

    def _value(self, key: str, value: Json) -> str:
        if key in schema_org.LINKS:
            return self._address(value)
        if value.__class__ is str:
            if not value.isprintable() or '"' in value or "\\" in value:
                raise _NotPlain  # it has escapes in it, which the parser writes in its own way
            return f'"{value}"^^{_DATE}' if key in schema_org.DATES else f'"{value}"'
        if value.__class__ is bool:
            words, kind = ("true" if value else "false"), _BOOLEAN
        elif value.__class__ is int and abs(value) < LARGEST_NUMBER:
            words, kind = str(value), _INTEGER
        else:
            raise _NotPlain
        return typed_literal(words, _DATE if key in schema_org.DATES else kind)

    def _kinds(self, said: Json) -> list[str]:
        """In the order of the alphabet (JSON-LD 1.1 API, 5.1.2, step 11)."""
        kinds = _several(said)
        if any(kind.__class__ is not str for kind in kinds):
            raise _NotPlain
        return [self._kind(kind) for kind in sorted(kinds)]

    def _kind(self, kind: str) -> str:
        if kind in schema_org.ALIASES:
            raise _NotPlain
        if kind.isalnum() and kind.isascii():
            return f"<{schema_org.VOCABULARY}{kind}>"
        if not kind.startswith("http"):
            raise _NotPlain
        return self._address(kind)

    def _address(self, text: Json) -> str:
        if text.__class__ is not str or "/." in text:
            raise _NotPlain
        if _WHOLE.fullmatch(text):
            return f"<{text}>" if text[0] == "h" else f"<{self._scheme}{text}>"
        if not _PATH.fullmatch(text):
            raise _NotPlain
        return f"<{self._origin}{text}>"


def _several(value: Json) -> Iterable[Json]:
    """One or more. An empty list says nothing, and may leave nothing to say."""
    if value.__class__ is not list:
        return (value,)
    if not value:
        raise _NotPlain
    return value
