"""What a SPARQL query asks for, as far as we must know before it runs: no update, nothing remote, no abyss.

It is judged by its tokens (`tokens`), so that a string, an IRI, a name or a variable may hold any word at all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies.canonical import canonical
from gossamer.extract.vocabularies.relations import bundled
from gossamer.views.facts.tokens import END, Token, in_full, prefixes_in, tokens_of

# A query with canonical names: what it asks for is found however it is spelt (`extract.identity`).
# IRIs and prefixed names are rewritten, wherever they stand. Strings are not: a string may be compared with words that
# a page states, so which of the two is meant cannot be told. A string that is a variant of a name is pointed out
# instead.

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


LONGEST_QUERY = 64 * 1024
DEEPEST = 100
"""Brackets inside brackets. The parser calls itself for each and would run out of stack at some point."""

UPDATES = {"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"}
PROLOGUE = {"BASE", "PREFIX", "VERSION"}
REMOTE = "SERVICE is not available: queries are answered from this collection alone."

_SERVICE = re.compile("service", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class QueryNeeds:
    graphs: tuple[str, ...]
    """IRIs named by FROM and FROM NAMED."""


def inspect(query: str) -> QueryNeeds:
    """Raises QueryRefused, in words for the person who asked."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    tokens = tokens_of(query)
    refuse_remote(tokens)
    words = _Words()
    for token in tokens:
        words.take(token)
    return QueryNeeds(tuple(words.graphs))


def refuse_remote(tokens: list[Token]) -> None:
    """No keyword holds the word but the one, so whatever it is glued to, a word with SERVICE in it asks for it.

    A prefix may be called `service:`. Where a block follows its name, the engine would also try to read
    `SERVICE :name { ... }`, so that is allowed after GRAPH only, which must have a name."""
    for before, token, after in zip([END, *tokens], tokens, [*tokens[1:], END], strict=False):
        if token.kind == "word" and _SERVICE.search(token.text):
            raise QueryRefused(REMOTE)
        if token.kind == "name" and _SERVICE.search(token.text.partition(":")[0]):
            if after.is_mark("{") and not before.is_word("GRAPH"):
                raise QueryRefused(REMOTE)


class _Words:
    """Reads the tokens in order and objects where it must."""

    def __init__(self) -> None:
        self.graphs: list[str] = []
        self._prefixes: dict[str, str] = {}
        self._before = ("", "")
        self._depth = 0
        self._form = ""

    def take(self, token: Token) -> None:
        if token.is_mark("(", "{", "[", "<<", "{|"):
            self._depth += 1
            if self._depth > DEEPEST:
                raise QueryRefused(f"The query has more than {DEEPEST} brackets inside each other.")
        elif token.is_mark(")", "}", "]", ">>", "|}"):
            self._depth -= 1
        elif token.kind == "word":
            self._take_word(token.text.upper())
        elif token.kind in ("iri", "name"):
            self._take_iri(token.kind, token.text)

    def _take_word(self, word: str) -> None:
        if not self._form and word not in PROLOGUE:
            self._form = word
            if word in UPDATES:
                raise QueryRefused("This is an update, and facts here are read only: they come from pages alone.")
        if not (word == "NAMED" and self._before[0] == "FROM"):
            self._before = (word, "")

    def _take_iri(self, kind: str, text: str) -> None:
        word, prefix = self._before
        if word == "PREFIX" and kind == "name":
            self._before = (word, text)
            return
        if word == "PREFIX":
            self._prefixes[prefix] = text[1:-1]
        if word == "FROM":
            self.graphs.append(self._full(kind, text))
        self._before = ("", "")

    def _full(self, kind: str, text: str) -> str:
        if kind == "name":
            prefix, _, local = text.partition(":")
            return self._prefixes.get(prefix + ":", "") + local.replace("\\", "")
        return unescaped(text[1:-1])


# What is wrong with a query, in words for the person who wrote it: where, what, and what to do.

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_UNKNOWN_PREFIX = re.compile(r"([A-Za-z][\w.-]*|):[\w.-]*$")
LONGEST_EXCERPT = 40


def explained(query: str, trouble: str) -> str:
    """`trouble` is what the engine said; it names the place, and everything that could have stood there."""
    found = _PLACE.match(trouble)
    if found is None:
        return f"The query cannot be read: {trouble}"
    line, column, expected = int(found[1]), int(found[2]), found[3]
    lines = query.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    before, after = text[: column - 1], text[column - 1 :].strip()
    return f"The query cannot be read at line {line}, column {column}. {_reason(query, before, after, expected)}"


def _reason(query: str, before: str, after: str, expected: str) -> str:
    if "Prefix not found" in expected and (name := _UNKNOWN_PREFIX.search(before)):
        return _undeclared(name[1])
    if "variable that is unbound" in expected:
        return "With GROUP BY, SELECT may name only what is grouped by, or put it in COUNT(), SAMPLE() and the like."
    if "IRI parsing failed" in expected:
        return "What stands between < and > there is not a whole address: it needs a scheme, and no spaces."
    opened, closed = query.count("{"), query.count("}")
    if not after and opened > closed:
        return f"It ends too soon: {opened - closed} of its {{ are not closed."
    if after.startswith("}") or (not after and before.rstrip().endswith("}")):
        return "Something before the } is not whole: a fact to look for has three parts, subject, property and value."
    if not after:
        return "It ends too soon: something is missing there."
    excerpt = after if len(after) <= LONGEST_EXCERPT else after[:LONGEST_EXCERPT] + "…"
    return f"This cannot stand there, or something is missing before it: {excerpt}"


def _undeclared(prefix: str) -> str:
    namespace = bundled().expanded(prefix + ":") or "http://example.org/"
    return f"The prefix {prefix}: is not declared. Put this line first: PREFIX {prefix}: <{namespace}>"
