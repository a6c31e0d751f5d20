"""A regular expression engine that takes linear time for every pattern.

The user writes the pattern, but the URLs are from others, up to 8 KiB each; in a backtracking engine, `/.*a.*b.*c` on a
crafted URL takes minutes. Here every character is read once: the pattern becomes a small automaton (Thompson's
construction), whose sets of states are cached as they occur.

Supported are characters, `.`, `[sets]`, `\\d \\w \\s` and their opposites, groups, `|`, `*`, `+`, `?`, `{m,n}`, `^`,
`$`, and `(?i)` in front. Nothing that needs backtracking: no backreferences, no lookaround.
"""

import msgspec

MOST_STATES = 2_000
"""States of one pattern's automaton; `{m,n}` multiplies them."""
MOST_REMEMBERED = 1_000
"""Sets of states cached for one pattern; when there are more, the cache is cleared."""
DEEPEST = 50

# A set of characters is a number with a bit for each: URLs are ASCII, and bit 128 stands for everything else.
_OTHER = 128
_ALL = (1 << 129) - 1


def _bits(characters: str) -> int:
    return sum(1 << ord(character) for character in set(characters))


_DIGITS = _bits("0123456789")
_LETTERS = _bits("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SPACES = _bits(" \t\n\r\f\v")
_CLASSES = {"d": _DIGITS, "w": _DIGITS | _LETTERS | _bits("_"), "s": _SPACES}
_CLASSES |= {name.upper(): _ALL & ~bits for name, bits in _CLASSES.items()}
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}


class RuleSyntaxError(ValueError):
    """A syntax error; `at` is its position, counted from 0."""

    def __init__(self, says: str, at: int) -> None:
        super().__init__(says)
        self.says, self.at = says, at


class Letters(msgspec.Struct, frozen=True):
    bits: int


class Edge(msgspec.Struct, frozen=True):
    """`^` or `$`: a position, not a character."""

    is_end: bool


class PatternSequence(msgspec.Struct, frozen=True):
    parts: "tuple[Node, ...]"


class Alternatives(msgspec.Struct, frozen=True):
    parts: "tuple[Node, ...]"


class Repeat(msgspec.Struct, frozen=True):
    part: "Node"
    least: int
    most: int | None


Node = Letters | Edge | PatternSequence | Alternatives | Repeat


class Pattern:
    """A compiled pattern, made by `pattern_of`. Its cache only saves work and never changes an answer."""

    def __init__(self, states: "list[_State]", first: int) -> None:
        self._states = states
        self._starts = self._closure([first], at_start=False)
        begin = self._closure([first], at_start=True)
        at_end = self._closure([first], at_start=True, at_end=True)
        self._begin = _StateSet(begin, FOUND in begin, FOUND in at_end)
        self._cache: dict[frozenset[int], _StateSet] = {}

    def found_in(self, text: str) -> bool:
        """Whether any part of the text matches."""
        now = self._begin
        for character in text:
            if now.is_found:
                return True
            following = now.after.get(character)
            now = following if following is not None else self._step(now, character)
        return now.is_found or now.is_found_at_end

    def _step(self, now: "_StateSet", character: str) -> "_StateSet":
        bit = 1 << min(ord(character), _OTHER)
        states = [self._states[one].following[0] for one in now.members if self._states[one].bits & bit]
        following = self._set_of(self._closure(states, at_start=False) | self._starts)
        if len(now.after) < _OTHER:
            now.after[character] = following
        return following

    def _set_of(self, members: frozenset[int]) -> "_StateSet":
        known = self._cache.get(members)
        if known is None:
            if len(self._cache) >= MOST_REMEMBERED:
                self._cache.clear()
            at_end = self._closure(members, at_start=False, at_end=True)
            known = self._cache[members] = _StateSet(members, FOUND in members, FOUND in at_end)
        return known

    def _closure(self, begin: list[int] | frozenset[int], at_start: bool, at_end: bool = False) -> frozenset[int]:
        """All states reachable from these without a character."""
        waiting, found = list(begin), set[int]()
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            found.add(one)
            state = self._states[one]
            if state.is_free or (state.wants_start and at_start) or (state.wants_end and at_end):
                waiting.extend(state.following)
        return frozenset(found)


class _StateSet:
    """A set of states, and where characters lead from it."""

    __slots__ = ("after", "is_found", "is_found_at_end", "members")

    def __init__(self, members: frozenset[int], is_found: bool, is_found_at_end: bool) -> None:
        self.members, self.is_found, self.is_found_at_end = members, is_found, is_found_at_end
        self.after: dict[str, _StateSet] = {}


class _State:
    """A state of the automaton: left by one of these characters, at a position, or unconditionally."""

    __slots__ = ("bits", "following", "is_free", "wants_end", "wants_start")

    def __init__(self, following: list[int], bits: int = 0, edge: Edge | None = None) -> None:
        self.following, self.bits = following, bits
        self.wants_start = edge is not None and not edge.is_end
        self.wants_end = edge is not None and edge.is_end
        self.is_free = not bits and edge is None


FOUND = 0
"""The accepting state."""


def pattern_of(text: str) -> Pattern:
    """Raises RuleSyntaxError for a syntax error and for unsupported kinds of patterns."""
    ignores_case = text.startswith("(?i)")
    node = _Parser(text, 4 if ignores_case else 0, ignores_case).whole()
    states = [_State([])]
    return Pattern(states, _built(node, FOUND, states))


def _built(node: Node, following: int, states: list[_State]) -> int:
    """Add the states for a node that continues at `following`; returns the first one."""
    if len(states) > MOST_STATES:
        raise RuleSyntaxError("the pattern is too large: repeat less, or write it in two rules", 0)
    match node:
        case Letters(bits):
            states.append(_State([following], bits))
        case Edge():
            states.append(_State([following], edge=node))
        case Alternatives(parts):
            begins = [_built(part, following, states) for part in parts]
            states.append(_State(begins))
        case PatternSequence(parts):
            for part in reversed(parts):
                following = _built(part, following, states)
            return following
        case Repeat(part, least, most):
            end = following
            if most is None:
                states.append(_State([end]))
                following = len(states) - 1
                states[following].following.append(_built(part, following, states))
            for _ in range((most or least) - least):
                begin = _built(part, following, states)
                states.append(_State([begin, end]))
                following = len(states) - 1
            for _ in range(least):
                following = _built(part, following, states)
            return following
    return len(states) - 1


class _Parser:
    def __init__(self, text: str, at: int, ignores_case: bool) -> None:
        self._text, self._at, self._ignores_case = text, at, ignores_case
        self._depth = 0

    def whole(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise RuleSyntaxError("this ) closes no group", self._at)
        return node

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _choice(self) -> Node:
        parts = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _sequence(self) -> Node:
        parts = []
        while self._next() not in ("", "|", ")"):
            start = self._at
            node = self._atom()
            while (times := self._times()) is not None:
                if isinstance(node, Edge):
                    raise RuleSyntaxError("^ and $ are positions and cannot be repeated", start)
                node = Repeat(node, *times)
            parts.append(node)
        return PatternSequence(tuple(parts))

    def _times(self) -> tuple[int, int | None] | None:
        known = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._next())
        if known is not None:
            self._at += 1
        elif self._next() == "{":
            known = self._braces()
        if known is not None and self._next() == "?":
            self._at += 1  # lazy: does not change whether there is a match
        return known

    def _braces(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not low.isdecimal() or not (high.isdecimal() or not high):
            raise RuleSyntaxError(
                "a { that does not begin a count such as {2} or {2,5}; write \\{ for the character", self._at
            )
        most = int(high) if high else None if comma else int(low)
        if most is not None and most < int(low):
            raise RuleSyntaxError("a count that ends before it begins", self._at)
        if max(int(low), most or 0) > MOST_STATES:
            raise RuleSyntaxError("a count that is too large", self._at)
        self._at = end + 1
        return int(low), most

    def _atom(self) -> Node:
        start, character = self._at, self._next()
        self._at += 1
        match character:
            case "(":
                return self._group(start)
            case "[":
                return Letters(self._cased(self._set(start)))
            case ".":
                return Letters(_ALL & ~_bits("\n"))
            case "^" | "$":
                return Edge(character == "$")
            case "*" | "+" | "?" | "{":
                raise RuleSyntaxError(f"{character} has nothing before it to repeat", start)
            case "\\":
                return Letters(self._cased(self._escape(start)))
            case _:
                return Letters(self._cased(_bit_of(character)))

    def _group(self, start: int) -> Node:
        if self._next() == "?":
            if self._text[self._at : self._at + 2] != "?:":
                raise RuleSyntaxError("only (?:...) is supported, and (?i) at the very beginning", start)
            self._at += 2
        self._depth += 1
        if self._depth > DEEPEST:
            raise RuleSyntaxError(f"groups nested more than {DEEPEST} deep", start)
        node = self._choice()
        self._depth -= 1
        if self._next() != ")":
            raise RuleSyntaxError("this ( is never closed", start)
        self._at += 1
        return node

    def _escape(self, start: int) -> int:
        character = self._next()
        self._at += 1
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _ESCAPED:
            return _bit_of(_ESCAPED[character])
        if not character or character.isalnum():
            raise RuleSyntaxError(f"\\{character} is not supported", start)
        return _bit_of(character)

    def _set(self, start: int) -> int:
        is_opposite = self._next() == "^"
        self._at += is_opposite
        bits, is_first = 0, True
        while is_first or self._next() != "]":
            if not self._next():
                raise RuleSyntaxError("this [ is never closed", start)
            is_first = False
            bits |= self._span()
        self._at += 1
        bits = self._cased(bits)
        return _ALL & ~bits if is_opposite else bits

    def _span(self) -> int:
        """One member of a set: a character, a class, or a range such as a-z."""
        start = self._at
        low = self._member()
        if self._next() != "-" or self._text[self._at + 1 : self._at + 2] in ("", "]"):
            return low
        self._at += 1
        high = self._member()
        if low.bit_count() != 1 or high.bit_count() != 1 or high < low:
            raise RuleSyntaxError("a range that ends before it begins", start)
        return (high << 1) - low

    def _member(self) -> int:
        start, character = self._at, self._next()
        self._at += 1
        return self._escape(start) if character == "\\" else _bit_of(character)

    def _cased(self, bits: int) -> int:
        if not self._ignores_case:
            return bits
        letters = bits & _LETTERS
        return bits | sum(1 << (number ^ 32) for number in range(_OTHER) if letters >> number & 1)


def _bit_of(character: str) -> int:
    return 1 << min(ord(character), _OTHER)
