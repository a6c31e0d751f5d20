"""What a SPARQL query asks for, as far as we must know before we let it run: no update, nothing remote, no abyss.

The words are found by the lexical rules of SPARQL 1.1 (section 19.8), so that a string, an IRI or a variable may
hold any word at all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.errors import QueryRefused

LONGEST_QUERY = 64 * 1024
DEEPEST = 100
"""Brackets inside brackets. The parser calls itself for each and would run out of stack at some point."""

UPDATES = {"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"}
PROLOGUE = {"BASE", "PREFIX", "VERSION"}

_TOKEN = re.compile(
    r"""
    (?P<string>  \"\"\" (?: [^"\\] | \\. | "(?!"") )* \"\"\"  |  ''' (?: [^'\\] | \\. | '(?!'') )* '''
               | " (?: [^"\\\r\n] | \\. )* "  |  ' (?: [^'\\\r\n] | \\. )* ' )
  | (?P<iri>     < (?: [^<>"{}|^`\\\x00-\x20] | \\u[0-9A-Fa-f]{4} | \\U[0-9A-Fa-f]{8} )* > )
  | (?P<comment> \# [^\r\n]* )
  | (?P<variable> [?$] \w+ )
  | (?P<language> @ [A-Za-z]+ (?: - [A-Za-z0-9]+ )* )
  | (?P<name>    (?: [^\W\d] [\w.\-]{0,100} )? : (?: [\w.\-:] | % [0-9A-Fa-f]{2} | \\ [_~.\-!$&'()*+,;=/?\#@%] )* )
  | (?P<word>    [^\W\d] \w* )
  | (?P<open>    [({\[] )
  | (?P<close>   [)}\]] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


@dataclass(frozen=True, slots=True)
class Asked:
    graphs: tuple[str, ...]
    """IRIs named by FROM and FROM NAMED."""


def inspect(query: str) -> Asked:
    """Raises QueryRefused, in words for the person who asked."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    asked = _inspect(query)
    # Escapes may stand anywhere and are read before everything else (section 19.2): look at both readings.
    if (plain := _ESCAPE.sub(_unescaped, query)) != query:
        _inspect(plain)
    return asked


def _inspect(query: str) -> Asked:
    words = _Words()
    for kind, text in _tokens(query):
        words.take(kind, text)
    return Asked(tuple(words.graphs))


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(query):
        kind = found.lastgroup or ""
        if kind not in ("string", "comment", "variable", "language"):
            yield kind, found[0]


class _Words:
    """Reads the tokens in order and objects where it must."""

    def __init__(self) -> None:
        self.graphs: list[str] = []
        self._prefixes: dict[str, str] = {}
        self._before = ("", "")
        self._depth = 0
        self._form = ""

    def take(self, kind: str, text: str) -> None:
        match kind:
            case "open":
                self._depth += 1
                if self._depth > DEEPEST:
                    raise QueryRefused(f"The query has more than {DEEPEST} brackets inside each other.")
            case "close":
                self._depth -= 1
            case "word":
                self._take_word(text.upper())
            case "iri" | "name":
                self._take_iri(kind, text)

    def _take_word(self, word: str) -> None:
        if word == "SERVICE":
            raise QueryRefused("SERVICE is not available: queries are answered from this collection alone.")
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
        return _ESCAPE.sub(_unescaped, text[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1] or found[2], 16)
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "�"
