"""A SPARQL query as tokens (SPARQL 1.1, section 19.8), and the names in it in full."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ | \# [^\r\n]* )
  | (?P<string>  \"\"\" (?: [^"\\] | \\. | "(?!"") )* \"\"\"  |  ''' (?: [^'\\] | \\. | '(?!'') )* '''
               | " (?: [^"\\\r\n] | \\. )* "  |  ' (?: [^'\\\r\n] | \\. )* ' )
  | (?P<iri>     < (?: [^<>"{}|^`\\\x00-\x20] | \\u[0-9A-Fa-f]{4} | \\U[0-9A-Fa-f]{8} )* > )
  | (?P<variable> [?$] \w+ )
  | (?P<language> @ [A-Za-z]+ (?: - [A-Za-z0-9]+ )* )
  | (?P<blank>   _: [\w][\w.\-]* (?<!\.) )
  | (?P<name>    (?: [^\W\d] [\w.\-]{0,100} )? :
                 (?: [\w\-:] | \. (?= [\w.\-:%\\] ) | % [0-9A-Fa-f]{2} | \\ [_~.\-!$&'()*+,;=/?\#@%] )* )
  | (?P<word>    [^\W\d] \w* )
  | (?P<number>  [+-]? (?: \d+ (?: \. \d* )? | \. \d+ ) (?: [eE] [+-]? \d+ )? (?<!\.) )
  | (?P<mark>    \^\^ | << | >> | \{\| | \|\} | . )
    """,
    re.VERBOSE | re.DOTALL,
)
CLOSES = {"{": "}", "(": ")", "[": "]"}


class Token(NamedTuple):
    kind: str
    text: str
    start: int = 0
    """Where it stands in the query."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    def is_mark(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks


END = Token("end", "")


def tokens_of(query: str) -> list[Token]:
    """Spaces and comments left out."""
    found = (Token(match.lastgroup or "", match[0], match.start()) for match in _TOKEN.finditer(query))
    return [token for token in found if token.kind != "space"]


def prefixes_in(tokens: list[Token]) -> dict[str, str]:
    """Those that the query declares."""
    found = {}
    for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.is_word("PREFIX") and name.kind == "name" and iri.kind == "iri":
            found[name.text[:-1]] = iri.text[1:-1]
    return found


def in_full(token: Token, prefixes: Mapping[str, str]) -> str | None:
    """The IRI that a token names; None when it names none, or one that depends on a BASE."""
    if token.kind == "iri":
        iri = token.text[1:-1]
        return iri if ":" in iri and "\\" not in iri else None
    if token.kind == "name":
        prefix, _, local = token.text.partition(":")
        namespace = prefixes.get(prefix)
        return None if namespace is None or ":" not in namespace else namespace + local.replace("\\", "")
    return None
