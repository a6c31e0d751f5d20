"""The expression language of the user's rules: `domain = example.org and not path ~ "/print/"`.

    expression := clause { "or" clause }        clause := term { "and" term }
    term       := "not" term | "(" expression ")" | comparison
    comparison := host|path|query|url  = != ~ !~ in     host = example.org, path ~ "^/news/\\d+"
                | domain|scheme|prefix|type  = != in    domain in (a.org, b.org), type = text/*
                | depth  = != < <= > >=                 depth <= 5
                | query has NAME                        query has sort

Expressions are parsed once and evaluated often. The content type is unknown until the response headers arrive; until
then, an expression that depends on it is neither true nor false (None), as in Kleene's logic.
"""

import re
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

import msgspec

from gossamer.rules.user.regex import DEEPEST, Pattern, RuleSyntaxError, pattern_of
from gossamer.values.url import DEFAULT_PORTS, Url, url_of


class RuleSubject(NamedTuple):
    url: Url
    depth: int
    media_type: str | None
    """None: not yet known."""


class OneOf(msgspec.Struct, frozen=True):
    """A part of the URL equals one of these texts."""

    part: Callable[[Url], str]
    texts: frozenset[str]

    def holds(self, subject: RuleSubject) -> bool | None:
        return self.part(subject.url) in self.texts


class PatternTest(msgspec.Struct, frozen=True):
    part: Callable[[Url], str]
    pattern: Pattern

    def holds(self, subject: RuleSubject) -> bool | None:
        return self.pattern.found_in(self.part(subject.url))


class InDomain(msgspec.Struct, frozen=True):
    """These names, and all names below them."""

    names: frozenset[str]
    ends: tuple[str, ...]

    def holds(self, subject: RuleSubject) -> bool | None:
        hostname = subject.url.hostname
        return hostname in self.names or hostname.endswith(self.ends)


class Begins(msgspec.Struct, frozen=True):
    prefixes: tuple[str, ...]

    def holds(self, subject: RuleSubject) -> bool | None:
        return subject.url.text.startswith(self.prefixes)


class Deep(msgspec.Struct, frozen=True):
    least: int
    most: int | None

    def holds(self, subject: RuleSubject) -> bool | None:
        return self.least <= subject.depth and (self.most is None or subject.depth <= self.most)


class Typed(msgspec.Struct, frozen=True):
    """One of these content types, or of these families (`text/*`)."""

    names: frozenset[str]
    families: tuple[str, ...]

    def holds(self, subject: RuleSubject) -> bool | None:
        media_type = subject.media_type
        return None if media_type is None else media_type in self.names or media_type.startswith(self.families)


class Has(msgspec.Struct, frozen=True):
    """A query parameter of this name, with or without a value."""

    name: str

    def holds(self, subject: RuleSubject) -> bool | None:
        query = query_of(subject.url)
        return self.name in query and self.name in [pair.partition("=")[0] for pair in query.split("&")]


class Not(msgspec.Struct, frozen=True):
    term: "Expression"

    def holds(self, subject: RuleSubject) -> bool | None:
        held = self.term.holds(subject)
        return None if held is None else not held


class All(msgspec.Struct, frozen=True):
    terms: "tuple[Expression, ...]"

    def holds(self, subject: RuleSubject) -> bool | None:
        return _combined(self.terms, subject, False)


class Any(msgspec.Struct, frozen=True):
    terms: "tuple[Expression, ...]"

    def holds(self, subject: RuleSubject) -> bool | None:
        return _combined(self.terms, subject, True)


def _combined(terms: "tuple[Expression, ...]", subject: RuleSubject, deciding: bool) -> bool | None:
    """One term with the deciding value decides; otherwise one unknown term makes the whole unknown."""
    found: bool | None = not deciding
    for term in terms:
        held = term.holds(subject)
        if held is deciding:
            return deciding
        if held is None:
            found = None
    return found


Expression = OneOf | PatternTest | InDomain | Begins | Deep | Typed | Has | Not | All | Any


def query_of(url: Url) -> str:
    """Without the question mark."""
    return url.text.partition("?")[2]


PARTS: dict[str, Callable[[Url], str]] = {
    "host": attrgetter("host.name"),
    "path": attrgetter("path"),
    "query": query_of,
    "url": attrgetter("text"),
}
FIELDS = (*PARTS, "domain", "scheme", "prefix", "type", "depth")
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[a-z]+")
_PUNCTUATION = re.compile(r"[(),]")
_SIGN = re.compile(r"!~|!=|<=|>=|[=~<>]")
_VALUE = re.compile(r'[^\s(),"]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)")


def expression_of(text: str, at: int = 0) -> Expression:
    """The expression that the text holds from `at` on. Raises RuleSyntaxError, which has the position."""
    reader = _Reader(text, at)
    found = reader.any_of()
    if reader.rest():
        raise RuleSyntaxError('expected "and", "or" or the end here', reader.at)
    return found


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self._text, self.at, self._depth = text, at, 0
        self._space()

    def rest(self) -> str:
        return self._text[self.at :]

    def _space(self) -> None:
        self.at = _SPACE.match(self._text, self.at).end()  # type: ignore[union-attr]  # it always matches

    def _take(self, kind: re.Pattern[str]) -> str | None:
        found = kind.match(self._text, self.at)
        if found is None:
            return None
        self.at = found.end()
        self._space()
        return found.group()

    def _is_next(self, word: str) -> bool:
        """Whether this word or sign comes next; if so, it is consumed."""
        start = self.at
        if self._take(_WORD if word.isalpha() else _PUNCTUATION) == word:
            return True
        self.at = start
        return False

    def any_of(self) -> Expression:
        terms = [self._all_of()]
        while self._is_next("or"):
            terms.append(self._all_of())
        return terms[0] if len(terms) == 1 else Any(tuple(terms))

    def _all_of(self) -> Expression:
        terms = [self._term()]
        while self._is_next("and"):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else All(tuple(terms))

    def _term(self) -> Expression:
        start = self.at
        self._depth += 1
        if self._depth > DEEPEST:
            raise RuleSyntaxError(f"parentheses and nots nested more than {DEEPEST} deep", start)
        try:
            if self._is_next("not"):
                return Not(self._term())
            if not self._is_next("("):
                return self._comparison()
            inner = self.any_of()
            if not self._is_next(")"):
                raise RuleSyntaxError("this ( is never closed", start)
            return inner
        finally:
            self._depth -= 1

    def _comparison(self) -> Expression:
        start = self.at
        field = self._take(_WORD)
        if field not in FIELDS:
            raise RuleSyntaxError(f"expected one of {', '.join(FIELDS)} here", start)
        if field == "query" and self._is_next("has"):
            return Has(self._value()[0])
        sign_at = self.at
        if self._is_next("in"):
            return _meant(field, self._values())
        sign = self._take(_SIGN)
        if field == "depth":
            return self._deep(sign, sign_at)
        if sign in ("~", "!~") and field in PARTS:
            found: Expression = PatternTest(PARTS[field], self._pattern())
        elif sign in ("=", "!="):
            found = _meant(field, [self._value()])
        else:
            signs = "=, !=, ~, !~ or in" if field in PARTS else "=, != or in"
            raise RuleSyntaxError(f"{field} is followed by {signs}", sign_at)
        return Not(found) if sign[0] == "!" else found

    def _deep(self, sign: str | None, sign_at: int) -> Expression:
        if sign is None or "~" in sign:
            raise RuleSyntaxError("depth is followed by =, !=, <, <=, > or >=", sign_at)
        text, at = self._value()
        if not text.isdecimal():
            raise RuleSyntaxError("a depth is a number of links, such as 5", at)
        number = int(text)
        span = {"<": (0, number - 1), "<=": (0, number), ">": (number + 1, None), ">=": (number, None)}
        found = Deep(*span.get(sign, (number, number)))
        return Not(found) if sign == "!=" else found

    def _values(self) -> list[tuple[str, int]]:
        start = self.at
        if not self._is_next("("):
            raise RuleSyntaxError("in is followed by a list: (one, another)", start)
        found = [self._value()]
        while self._is_next(","):
            found.append(self._value())
        if not self._is_next(")"):
            raise RuleSyntaxError("this ( is never closed", start)
        return found

    def _value(self) -> tuple[str, int]:
        """A word or a quoted text, and its position. In quotes only `\\"` and `\\\\` are escapes."""
        start = self.at
        if self._text.startswith('"', start):
            found = self._take(_QUOTED)
            if found is None:
                raise RuleSyntaxError("this quotation mark is never closed", start)
            return re.sub(r'\\(["\\])', r"\1", found[1:-1]), start
        word = self._take(_VALUE)
        if word is None:
            raise RuleSyntaxError("expected a value here", start)
        return word, start

    def _pattern(self) -> Pattern:
        """A quoted text as written: in a pattern a backslash belongs to the pattern."""
        start = self.at
        found = self._take(_QUOTED)
        if found is None:
            raise RuleSyntaxError('a pattern must be quoted: path ~ "^/news/"', start)
        try:
            return pattern_of(found[1:-1])
        except RuleSyntaxError as error:
            raise RuleSyntaxError(error.says, start + 1 + error.at) from None


def _meant(field: str, values: list[tuple[str, int]]) -> Expression:
    """The expression for a field that equals one of these values."""
    match field:
        case "domain":
            names = [_named(*value) for value in values]
            return InDomain(frozenset(names), tuple(f".{name}" for name in names))
        case "host":
            return OneOf(PARTS["host"], frozenset(_named(*value, may_have_port=True) for value in values))
        case "scheme":
            return Begins(tuple(f"{_scheme(*value)}://" for value in values))
        case "prefix":
            return Begins(tuple(_prefix(*value) for value in values))
        case "type":
            kinds = [_type(*value) for value in values]
            families = tuple(kind[:-1] for kind in kinds if kind.endswith("/*"))
            return Typed(frozenset(kinds), families)
        case "depth":
            raise RuleSyntaxError("depth is compared with <=, not with in", values[0][1] - 1)
        case _:
            return OneOf(PARTS[field], frozenset(value for value, _ in values))


def _named(text: str, at: int, may_have_port: bool = False) -> str:
    """The name as it appears in URLs: in lower case and punycode."""
    url = None if "/" in text or "@" in text else url_of(f"http://{text}/")
    if url is None or url.target != "/":
        raise RuleSyntaxError("not the name of a host, such as example.org", at)
    if may_have_port:
        return url.host.name
    if url.port != 80:
        raise RuleSyntaxError("a domain has no port", at)
    return url.hostname


def _scheme(text: str, at: int) -> str:
    if text not in DEFAULT_PORTS:
        raise RuleSyntaxError(f"a scheme is {' or '.join(DEFAULT_PORTS)}", at)
    return text


def _prefix(text: str, at: int) -> str:
    url = url_of(text)
    if url is None:
        raise RuleSyntaxError("a prefix is the beginning of a URL, such as https://example.org/news/", at)
    return url.text


def _type(text: str, at: int) -> str:
    if not _TYPE.fullmatch(text.lower()):
        raise RuleSyntaxError("not a content type, such as text/html or image/*", at)
    return text.lower()
