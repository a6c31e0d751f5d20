"""What a SPARQL query asks for, as far as we must know before it runs: no update, nothing remote, no abyss.

It is judged by its tokens (`tokens`), so that a string, an IRI, a name or a variable may hold any word at all.
"""

import re
from dataclasses import dataclass

from gossamer.base.errors import QueryRefused
from gossamer.views.facts.canonical_names import unescaped
from gossamer.views.facts.tokens import END, Token, tokens_of

LONGEST_QUERY = 64 * 1024
DEEPEST = 100
"""Brackets inside brackets. The parser calls itself for each and would run out of stack at some point."""

UPDATES = {"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"}
PROLOGUE = {"BASE", "PREFIX", "VERSION"}
REMOTE = "SERVICE is not available: queries are answered from this collection alone."

_SERVICE = re.compile("service", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    graphs: tuple[str, ...]
    """IRIs named by FROM and FROM NAMED."""


def inspect(query: str) -> Asked:
    """Raises QueryRefused, in words for the person who asked."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    tokens = tokens_of(query)
    refuse_remote(tokens)
    words = _Words()
    for token in tokens:
        words.take(token)
    return Asked(tuple(words.graphs))


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
