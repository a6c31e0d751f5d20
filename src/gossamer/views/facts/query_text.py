"""The text of a SPARQL query.

Its tokens, its names in canonical form, checks, and explanations of errors.

The engine has no lexer: its parser reads characters, so `1e5SERVICE` is a number and a keyword, and whether `<` starts
an IRI or compares two values depends on the context. A check of the text is worth something only if it sees the same
tokens, so the rules here are those of the engine's terminals, not of SPARQL 1.1 section 19.8 where the two differ
(a local name has at most one group of dots). Text that can be split in two ways is refused. Linear in the query.

A query is checked before it runs: no update, nothing remote, no deep nesting. The check reads tokens, so a string, an
IRI, a name or a variable may contain any word.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from gossamer.base.errors import QueryRefused
from gossamer.extract.vocabularies import bundled, canonical

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
)
_LETTER = f"{_BASE}_"  # PN_CHARS_U
_VAR = f"{_LETTER}0-9\u00b7\u0300-\u036f\u203f\u2040"
_CHAR = f"{_VAR}\\-"  # PN_CHARS
_HEX = "[0-9A-Fa-f]"
_POINT = rf"u(?![dD][89a-fA-F]){_HEX}{{4}}|U000(?:0(?![dD][89a-fA-F])|[1-9a-fA-F]){_HEX}{{4}}|U0010{_HEX}{{4}}"
"""What may follow a backslash to name a code point; surrogates are excluded."""
_ESCAPE = rf"""\\(?:[tbnrf"'\\]|{_POINT})"""
_PLX = rf"%{_HEX}{{2}}|\\[_~.\-!$&'()*+,;=/?\#@%]"
_LOCAL = rf"(?:[{_LETTER}:0-9]|{_PLX})(?:[{_CHAR}:]|{_PLX})*+(?>\.+(?:[{_CHAR}:]|{_PLX})++)?+"  # one group of dots

_PREFIX = re.compile(rf"[{_BASE}][{_CHAR}]*+(?>\.+[{_CHAR}]++)*+")
_IRI = re.compile(rf"""<(?:[^<>"{{}}|^`\\\x00-\x20]|\\(?:{_POINT}))*+>""")
_NAME = re.compile(rf":(?:{_LOCAL})?+")
_TOKEN = re.compile(
    rf"""
    (?P<space>   [\ \t\r\n]++ | \#[^\r\n]*+ )
  | (?P<string>  '''(?:'{{0,2}}(?:[^'\\]|{_ESCAPE}))*+'''
               | \"\"\"(?:"{{0,2}}(?:[^"\\]|{_ESCAPE}))*+\"\"\"
               | '(?!'')(?:[^'\\\r\n]|{_ESCAPE})*+'
               | "(?!"")(?:[^"\\\r\n]|{_ESCAPE})*+" )
  | (?P<variable> [?$][{_LETTER}0-9][{_VAR}]*+ )
  | (?P<language> @[A-Za-z]++(?:-[A-Za-z0-9]++)*+(?:--[A-Za-z]++)?+ )
  | (?P<blank>   _:[{_LETTER}0-9][{_CHAR}]*+(?>\.+[{_CHAR}]++)*+ )
  | (?P<word>    [{_LETTER}][{_VAR}]*+ )
  | (?P<number>  [+-]?(?:[0-9]++(?:\.[0-9]*+)?+[eE][+-]?[0-9]++ | \.[0-9]++[eE][+-]?[0-9]++ | [0-9]*+\.[0-9]++
                 | [0-9]++) )
  | (?P<mark>    \^\^ | << | >> | \{{\| | \|\}} | && | \|\| | [!<>]= | [^'"\\] )
    """,
    re.VERBOSE,
)
CLOSES = {"{": "}", "(": ")", "[": "]"}
_OPENS = {**CLOSES, "{|": "|}"}
_NESTS = {**_OPENS, "<<": ">>"}
_TERMS = frozenset({"variable", "string", "number", "iri", "name", "blank", "language"})
_ENDS = frozenset({")", "]", "}", ">>", "|}"})
_EXPRESSION = frozenset({
    "ABS", "ADJUST", "ASC", "AVG", "BIND", "BNODE", "BOUND", "BY", "CEIL", "COALESCE", "CONCAT", "CONTAINS", "COUNT",
    "DATATYPE", "DAY", "DESC", "DISTINCT", "ENCODE_FOR_URI", "EXISTS", "FILTER", "FLOOR", "GROUP_CONCAT", "HASLANG",
    "HASLANGDIR", "HAVING", "HOURS", "IF", "IN", "IRI", "ISBLANK", "ISIRI", "ISLITERAL", "ISNUMERIC", "ISTRIPLE",
    "ISURI", "LANG", "LANGDIR", "LANGMATCHES", "LCASE", "MAX", "MD5", "MIN", "MINUTES", "MONTH", "NOW", "OBJECT",
    "PREDICATE", "RAND", "REDUCED", "REGEX", "REPLACE", "ROUND", "SAMETERM", "SAMPLE", "SECONDS", "SELECT", "SHA1",
    "SHA256", "SHA384", "SHA512", "STR", "STRAFTER", "STRBEFORE", "STRDT", "STRENDS", "STRLANG", "STRLANGDIR",
    "STRLEN", "STRSTARTS", "STRUUID", "SUBJECT", "SUBSTR", "SUM", "TIMEZONE", "TRIPLE", "TZ", "UCASE", "URI", "UUID",
    "YEAR",
})  # fmt: skip
"""Words after which a bracket ( contains only expressions."""


class Token(NamedTuple):
    kind: str
    text: str
    start: int = 0
    """Its position in the query."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words

    def is_mark(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks


END = Token("end", "")


def tokens_of(query: str) -> list[Token]:
    """Without spaces and comments. Raises QueryRefused where the text cannot be split, or in more than one way."""
    return _Lexer(query).tokens()


class _Lexer:
    """One pass from left to right, with the open brackets and the last tokens as its only state."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._found: list[Token] = []
        self._open: list[str] = []
        """What each open bracket contains: `{`, `[`, `{|`, `expression`, `data`, `row`, or `(`, which may be a list, a
        path, or a function's arguments."""
        self._data_due = -1
        """How many brackets are open around a VALUES whose block has not begun."""
        self._no_name_before = 0

    def tokens(self) -> list[Token]:
        at = 0
        while at < len(self._query):
            token = self._next(at)
            if token.kind != "space":
                self._note(token)
                self._found.append(token)
            at = token.end
        return self._found

    def _next(self, at: int) -> Token:
        letter = self._query[at]
        if letter == "<":
            return self._angle(at)
        if letter == ":" and (found := _NAME.match(self._query, at)):
            return Token("name", found[0], at)
        if at >= self._no_name_before and (prefix := _PREFIX.match(self._query, at)):
            if found := _NAME.match(self._query, prefix.end()):
                return Token("name", prefix[0] + found[0], at)
            self._no_name_before = prefix.end()  # nor can a name start inside it, since none would end elsewhere
        if found := _TOKEN.match(self._query, at):
            return Token(found.lastgroup or "", found[0], at)
        raise QueryRefused(f"The query cannot be parsed at {self._place(at)}: {_WRONG.get(letter, _WRONG_STRING)}")

    def _angle(self, at: int) -> Token:
        """IRI, comparison, or the start of a triple. After a value inside an expression it always compares; where this
        may or may not be an expression, both readings must agree."""
        inside, before = self._open[-1] if self._open else "", self._found[-1] if self._found else END
        is_triple = self._query.startswith("<<", at)
        iri = _IRI.match(self._query, at + is_triple)
        if inside == "expression" and before.kind == "word" and not before.is_word("DISTINCT"):
            if before.text not in ("true", "false"):
                raise self._ambiguous(at)
            return self._compares(at)
        if inside == "expression" and _is_value(before):
            return self._compares(at)
        if inside == "(" and (_is_value(before) or before.kind == "word") and iri and _MATTERS.search(iri[0]):
            if is_triple or not _ABSOLUTE.match(iri[0]):
                raise self._ambiguous(at)
        if is_triple:
            return Token("mark", "<<", at)
        return Token("iri", iri[0], at) if iri else self._compares(at)

    def _compares(self, at: int) -> Token:
        return Token("mark", "<=" if self._query.startswith("<=", at) else "<", at)

    def _note(self, token: Token) -> None:
        """Track the brackets. REQUIRES: the token is not in `_found` yet."""
        if token.is_word("VALUES"):
            self._data_due = len(self._open)
        elif token.is_mark(*_OPENS):
            self._open.append(self._held_by(token))
        elif token.is_mark(*_OPENS.values()):
            held = self._open.pop() if self._open else ""
            if _CLOSED_BY.get(held) != token.text:
                raise QueryRefused(f"The {token.text} at {self._place(token.start)} matches no open bracket.")

    def _held_by(self, bracket: Token) -> str:
        inside, before = self._open[-1] if self._open else "", self._found[-1] if self._found else END
        if bracket.text == "{" and self._data_due == len(self._open):
            self._data_due = -1
            return "data"
        if bracket.text != "(":
            return bracket.text
        if inside == "data":
            return "row"
        is_expression = not self._open or inside == "expression" or before.is_word(*_EXPRESSION)
        return "expression" if is_expression else "("

    def _ambiguous(self, at: int) -> QueryRefused:
        return QueryRefused(
            f"The < at {self._place(at)} may start an IRI or compare two values. "
            "Put a space after it to compare, or write the IRI with a PREFIX."
        )

    def _place(self, at: int) -> str:
        line = self._query.count("\n", 0, at) + 1
        return f"line {line}, column {at - self._query.rfind(chr(10), 0, at)}"


_CLOSED_BY = {**_OPENS, "expression": ")", "row": ")", "data": "}"}
_MATTERS = re.compile(r"[#'()\[\]]")
"""In an IRI: what would start a comment or a string, or be a bracket, if it were not an IRI."""
_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*+://")
"""Two slashes in a row occur nowhere else."""
_WRONG = {"\\": "a backslash is allowed only inside strings, IRIs and names."}
_WRONG_STRING = "this string is not closed, or has an unknown escape."


def _is_value(token: Token) -> bool:
    return token.kind in _TERMS or (token.kind == "mark" and token.text in _ENDS) or token.text in ("true", "false")


def prefixes_in(tokens: list[Token]) -> dict[str, str]:
    """The prefixes the query declares."""
    found = {}
    for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.is_word("PREFIX") and name.kind == "name" and iri.kind == "iri":
            found[name.text[:-1]] = iri.text[1:-1]
    return found


def in_full(token: Token, prefixes: Mapping[str, str]) -> str | None:
    """The IRI a token names; None if it names none, or depends on a BASE."""
    if token.kind == "iri":
        iri = token.text[1:-1]
        return iri if ":" in iri and "\\" not in iri else None
    if token.kind == "name":
        prefix, _, local = token.text.partition(":")
        namespace = prefixes.get(prefix)
        return None if namespace is None or ":" not in namespace else namespace + local.replace("\\", "")
    return None


# A query with canonical names finds an entity in any spelling (`extract.vocabularies`).
# IRIs and prefixed names are rewritten everywhere. Strings are not: a string may be compared with a page's words, so
# its meaning is unknown. A string that is a variant of a name gets a note instead.

_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_IN_STRING = re.compile(r"https?://[^\s\"'\\]*", re.IGNORECASE)
_UNSAFE = re.compile(r"""[<>"{}|^`\\\x00-\x20]""")


class Canonical(NamedTuple):
    query: str
    notes: tuple[str, ...]


def canonical_query(query: str) -> Canonical:
    """REQUIRES: a query that `tokens_of` can split. Returns the same text if nothing changes."""
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
    """Its replacement; None: it stays."""
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
    """Decode its escapes."""
    return _CODE_POINT.sub(lambda found: chr(int(found[1] or found[2], 16)), iri) if "\\" in iri else iri


def _notes_on(string: str) -> list[str]:
    found = [(one, canonical(one)) for one in _IN_STRING.findall(string)]
    return [
        f"The string “{one}” is compared as written; the canonical name is {named}."
        for one, named in found
        if one != named
    ]


LONGEST_QUERY = 64 * 1024
DEEPEST = 100
"""Nested brackets: the engine's parser is recursive and would overflow its stack."""

UPDATES = {"ADD", "CLEAR", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "LOAD", "MOVE", "WITH"}
PROLOGUE = {"BASE", "PREFIX", "VERSION"}
REMOTE = "SERVICE is not available: queries run on this collection alone."

_SERVICE = re.compile("service", re.IGNORECASE | re.ASCII)


def inspect(query: str) -> list[str]:
    """The IRIs named by FROM and FROM NAMED. Raises QueryRefused with a reason for the user."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query is longer than {LONGEST_QUERY:,} characters.")
    tokens = tokens_of(query)
    refuse_remote(tokens)
    depth = 0
    for token in tokens:
        depth += token.is_mark(*_NESTS) - token.is_mark(*_NESTS.values())
        if depth > DEEPEST:
            raise QueryRefused(f"The query has more than {DEEPEST} brackets inside each other.")
    form = next((token for token in tokens if token.kind == "word" and not token.is_word(*PROLOGUE)), END)
    if form.is_word(*UPDATES):
        raise QueryRefused("This is an update, and the facts are read only: they come from pages alone.")
    prefixes = prefixes_in(tokens)
    terms = [token for token in tokens if not token.is_word("NAMED")]
    graphs = [term for word, term in pairwise(terms) if word.is_word("FROM") and term.kind in ("iri", "name")]
    return [unescaped(one.text[1:-1]) if one.kind == "iri" else in_full(one, prefixes) or one.text for one in graphs]


def refuse_remote(tokens: list[Token]) -> None:
    """No other keyword contains SERVICE, so any word with it, with or without a space, asks for a remote query.

    A prefix may be called `service:`. Before a block the engine would also try to parse `SERVICE :name { ... }`, so
    there it is allowed only after GRAPH, which must have a name."""
    for before, token, after in zip([END, *tokens], tokens, [*tokens[1:], END], strict=False):
        if token.kind == "word" and _SERVICE.search(token.text):
            raise QueryRefused(REMOTE)
        if token.kind == "name" and _SERVICE.search(token.text.partition(":")[0]):
            if after.is_mark("{") and not before.is_word("GRAPH"):
                raise QueryRefused(REMOTE)


# What is wrong with a query, for its author: where, what, and how to fix it.

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_UNKNOWN_PREFIX = re.compile(r"([A-Za-z][\w.-]*|):[\w.-]*$")
LONGEST_EXCERPT = 40


def explained(query: str, trouble: str) -> str:
    """`trouble` is the engine's message: the position, and everything it expected there."""
    found = _PLACE.match(trouble)
    if found is None:
        return f"The query cannot be parsed: {trouble}"
    line, column, expected = int(found[1]), int(found[2]), found[3]
    lines = query.split("\n")
    text = lines[line - 1] if line <= len(lines) else ""
    before, after = text[: column - 1], text[column - 1 :].strip()
    return f"The query cannot be parsed at line {line}, column {column}. {_reason(query, before, after, expected)}"


def _reason(query: str, before: str, after: str, expected: str) -> str:
    if "Prefix not found" in expected and (name := _UNKNOWN_PREFIX.search(before)):
        return _undeclared(name[1])
    if "variable that is unbound" in expected:
        return "With GROUP BY, SELECT may list only grouped variables, or aggregates such as COUNT() and SAMPLE()."
    if "IRI parsing failed" in expected:
        return "The text between < and > is not an absolute IRI: it needs a scheme, and no spaces."
    opened, closed = query.count("{"), query.count("}")
    if not after and opened > closed:
        return f"It ends too early: {opened - closed} of its {{ are not closed."
    if after.startswith("}") or (not after and before.rstrip().endswith("}")):
        return "Something before the } is incomplete: a pattern has three parts, subject, property and value."
    if not after:
        return "It ends too early: something is missing."
    excerpt = after if len(after) <= LONGEST_EXCERPT else after[:LONGEST_EXCERPT] + "…"
    return f"Unexpected here, or something is missing before it: {excerpt}"


def _undeclared(prefix: str) -> str:
    namespace = bundled().expanded(prefix + ":") or "http://example.org/"
    return f"The prefix {prefix}: is not declared. Add this line at the top: PREFIX {prefix}: <{namespace}>"
