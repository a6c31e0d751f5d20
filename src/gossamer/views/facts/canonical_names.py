"""A query with canonical names: what it asks for is found however it is spelt (`extract.identity`).

IRIs and prefixed names are rewritten, wherever they stand. Strings are not: a string may be compared with words that a
page states, so which of the two is meant cannot be told. A string that is a variant of a name is pointed out instead.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.extract.vocabularies.canonical import canonical
from gossamer.views.facts.tokens import Token, in_full, prefixes_in, tokens_of

_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_IN_STRING = re.compile(r"https?://[^\s\"'\\]*", re.IGNORECASE)
_UNSAFE = re.compile(r"""[<>"{}|^`\\\x00-\x20]""")


class Canonical(NamedTuple):
    query: str
    notes: tuple[str, ...]


def canonical_query(query: str) -> Canonical:
    """REQUIRES: a query that `tokens_of` can split. The query itself where nothing is to be changed."""
    tokens = tokens_of(query)
    prefixes = prefixes_in(tokens)
    pieces: list[str] = []
    notes: list[str] = []
    at = 0
    for token in tokens:
        if token.kind == "string":
            notes += _notes_on(token.text)
        named = _canonical_token(token, prefixes)
        if named is not None:
            pieces += [query[at : token.start], named]
            at = token.end
    return Canonical("".join([*pieces, query[at:]]), tuple(dict.fromkeys(notes)))


def _canonical_token(token: Token, prefixes: Mapping[str, str]) -> str | None:
    """What to write in its place; None: it stays."""
    if token.kind == "iri":
        given = unescaped(token.text[1:-1])
        named = canonical(given)
    elif token.kind == "name" and (full := in_full(token, prefixes)) is not None:
        prefix, _, local = token.text.partition(":")
        given = canonical(prefixes[prefix]) + local.replace("\\", "")  # its PREFIX is rewritten as well
        named = canonical(full)
    else:
        return None
    return f"<{named}>" if named != given and not _UNSAFE.search(named) else None


def unescaped(iri: str) -> str:
    """With the characters that its escapes stand for."""
    return _CODE_POINT.sub(lambda found: chr(int(found[1] or found[2], 16)), iri) if "\\" in iri else iri


def _notes_on(string: str) -> list[str]:
    found = [(one, canonical(one)) for one in _IN_STRING.findall(string)]
    return [
        f"The string “{one}” is compared as it is written; names here are spelt {named}."
        for one, named in found
        if one != named
    ]
