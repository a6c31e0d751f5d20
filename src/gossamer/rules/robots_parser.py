"""The lines and groups of a robots.txt, parsed from bytes. Lenient, bounded, never raises."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple

from gossamer.values.robots import Naming, RobotsRule

MOST_BYTES = 500 * 1024
"""RFC 9309, 2.5: at least this much must be read; the rest is ignored."""
UNKNOWN = ""
"""The key of a line that looks like a directive but is not a known one."""

KEYS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    "allow": "allow",
    # Misspellings common enough that the large crawlers accept them.
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "delay"),
    **dict.fromkeys(("recrawl-delay", "recrawldelay", "recrawl delay"), "recrawl"),
    **dict.fromkeys(("sitemap", "site-map"), "sitemap"),
    **dict.fromkeys(("request-rate", "request rate"), "rate"),
    **dict.fromkeys(("content-signal", "content-usage"), "signal"),
    "noindex": "noindex",
    "host": "host",
    "clean-param": "clean-param",
    "visit-time": "visit-time",
}
RULES = frozenset({"agent", "allow", "disallow"})

_BREAK = re.compile(r"\r\n|\r|\n")
_BR = re.compile(r"(?:<br\s*/?>\s*)+$", re.IGNORECASE)
_BARE = re.compile(
    r"(user[- ]?agent|(?:re)?crawl[- ]delay|request[- ]rate)\s+(\S.{0,99})|(allow|disallow)\s+(\S+)", re.IGNORECASE
)
"""A line without a colon, for keys that occur like this."""
_DIRECTIVE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


class RobotsLine(NamedTuple):
    number: int
    """From 1."""
    key: str
    """One of the values of `KEYS`, or `UNKNOWN`."""
    name: str
    """The key as written, in lower case."""
    value: str
    has_colon: bool = True


def text_of(body: bytes) -> tuple[str, list[str]]:
    """The text within the limit, cut at a line break, and what was odd about it."""
    flags: list[str] = []
    if len(body) > MOST_BYTES:
        flags.append("too-long")
        head = body[:MOST_BYTES]
        cut = max(head.rfind(b"\n"), head.rfind(b"\r"))
        body = head[: cut + 1]
    if codec := _utf16_of(body):
        flags.append("utf-16")
        return body.decode(codec, "replace").lstrip("\ufeff"), flags
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xff\xfe", b"\xfe\xff"):  # truncated and wrong marks occur
        if body.startswith(mark):
            body = body[len(mark) :]
            break
    if b"\0" in body:
        flags.append("nul")
        body = body.replace(b"\0", b"")
    return body.decode("utf-8", "replace"), flags


def _utf16_of(body: bytes) -> str | None:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in body[:256]:
        return "utf-16-le" if body[0] == 0xFF else "utf-16-be"
    head = body[:256]
    if head.count(b"\0") * 5 < len(head) * 2 or len(head) < 4:  # ASCII in UTF-16 is half zero bytes
        return None
    return "utf-16-le" if head[1::2].count(b"\0") > head[0::2].count(b"\0") else "utf-16-be"


def lines_of(text: str) -> list[RobotsLine]:
    """All lines that look like directives, in order.

    A missing colon is accepted in a file without any colon: among lines with colons it is an error of another kind,
    and RFC 9309 (2.2) knows no such line.
    """
    found = list(lines_as_written(text))
    bare = [line for line in found if not line.has_colon]
    if bare and any(line.has_colon and line.key in RULES for line in found):
        return [line for line in found if line.has_colon]
    return found


def lines_as_written(text: str) -> Iterator[RobotsLine]:
    """The lines as written, including those without a colon."""
    for number, line in plain_lines(text):
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip(" \t").lower()
            key = KEYS.get(name, UNKNOWN)
            if key or _DIRECTIVE.fullmatch(name):
                yield RobotsLine(number, key, name, value.strip(" \t"))
        elif bare := _BARE.fullmatch(line):
            name = (bare[1] or bare[3]).lower()
            yield RobotsLine(number, KEYS[name], name, bare[2] or bare[4], has_colon=False)


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with something other than a comment, with their numbers."""
    for number, line in enumerate(_BREAK.split(text), 1):
        line = line.partition("#")[0].strip(" \t\v\f")
        if line.endswith(">"):  # written with an HTML editor
            line = _BR.sub("", line)
        if line:
            yield number, line


def line_count(text: str) -> int:
    """Number of lines, counting an empty one after a final line break."""
    return len(_BREAK.findall(text)) + 1


# Patterns: one normal form for them and for URLs, and matching in linear time.

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^!#&-)+-;=?-Z_a-z~%]|%")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def matches(pattern: str, target: str) -> bool:
    """Whether the pattern matches from the start of the target; both in normal form.

    Each part between stars is searched for once, after the previous part: linear for every pattern.
    """
    end = len(pattern) - (pattern[-1:] == "$")
    star = pattern.find("*", 0, end)
    if star < 0:
        return target == pattern[:end] if end < len(pattern) else target.startswith(pattern)
    if not target.startswith(pattern[:star]):
        return False
    at = star
    while (following := pattern.find("*", star + 1, end)) >= 0:
        part = pattern[star + 1 : following]
        found = target.find(part, at)
        if found < 0:
            return False
        at, star = found + len(part), following
    last = pattern[star + 1 : end]
    if end < len(pattern):
        return len(target) - len(last) >= at and target.endswith(last)
    return target.find(last, at) >= 0


def normal_pattern(pattern: str) -> str:
    """Stars are kept, and so is a final `$`; any other `$` is a literal character."""
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    parts = [normal_target(part) for part in pattern.split("*")]
    return "*".join(parts) + ("$" if anchored else "")


def normal_target(text: str) -> str:
    """RFC 9309, 2.2.2: escapes of unreserved characters undone, all others in upper case, illegal characters escaped,
    and so are `*` and `$`, which have a meaning in patterns."""
    return _ESCAPE.sub(_escaped, text) if _ESCAPE.search(text) else text


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] == "%" and len(found) == 3:
        character = chr(int(found[1:], 16))
        return character if character in _UNRESERVED else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "replace"))


# Groups: which user agents a line names, and what the lines of a group say.

MOST_CRAWL_DELAY_S = 30.0
MOST_RECRAWL_DELAY_S = 365 * 86_400.0
MOST_EXTENSIONS = 50
"""Signals and other extensions kept per file."""
LONGEST_EXTENSION = 500
EVERYONE = "*"
_TOKEN = re.compile(r"[A-Za-z_-]*")
_NAME = re.compile(r"[\w-]*")
_PLAIN_NAME = re.compile(r"[\w-][^();]*")
_BETWEEN_NAMES = re.compile(r"[\s,;()]+")
_BETWEEN_LISTED = re.compile(r"[\s,]+")
_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s|$)", re.IGNORECASE)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SIGNAL = re.compile(r"([a-z0-9-]{1,40})\s*=\s*([a-z0-9-]{1,40})")


class RobotsGroup:
    """The lines for one set of user agents, collected while parsing."""

    def __init__(self) -> None:
        self.name = ""
        self.lines: list[int] = []
        self.rules: list[RobotsRule] = []
        self.delays_s: dict[str, float] = {}
        """By key; the first valid one counts."""
        self.signals: dict[tuple[str, str], None] = {}
        self.extensions: dict[tuple[str, str], None] = {}

    def add(self, line: RobotsLine) -> None:
        """Add a line of the group that is not a user agent."""
        number, key, name, value, _ = line
        if key in ("allow", "disallow"):
            if value:
                self.rules.append(RobotsRule(key == "allow", normal_pattern(value), number))
            return
        if key in DELAYS and (delay_s := DELAYS[key][0](value)) is not None:
            self.delays_s.setdefault(key, delay_s)
        if key == "signal" and (signals := _signals_in(value)):
            self.signals.update(dict.fromkeys(signals[: MOST_EXTENSIONS - len(self.signals)]))
        elif key not in _NOT_EXTENSIONS and value and len(self.extensions) < MOST_EXTENSIONS:
            self.extensions[name, value[:LONGEST_EXTENSION]] = None

    def delay_s(self, *keys: str) -> float | None:
        """The longest of these delays, within bounds."""
        return max([min(self.delays_s[key], DELAYS[key][1]) for key in keys if key in self.delays_s], default=None)


class Groups:
    """The groups of a file that may apply to one user agent."""

    def __init__(self, agent: str, naming: Naming) -> None:
        self._naming = naming
        self._wanted = (agent.lower(),) if naming == "token" else names_in(agent)
        self._is_anyone = EVERYONE in _BETWEEN_NAMES.split(agent)
        self.everyone, self.orphans = RobotsGroup(), RobotsGroup()
        self._ours: dict[int, RobotsGroup] = {}
        """By how many letters of the name match; only a loose match has more than one."""

    def named(self, value: str) -> list[RobotsGroup]:
        """The groups that a user-agent line opens."""
        if value == EVERYONE or (value[:1] == EVERYONE and value[1:2].isspace()):
            self.everyone.name = EVERYONE
            return [self.everyone]
        length, name = self._match(value)
        if not length:
            return []
        group = self._ours.setdefault(length, RobotsGroup())
        group.name = group.name or name
        return [group]

    def _match(self, value: str) -> tuple[int, str]:
        """How well the line matches us (0: not at all), and under which name."""
        if self._naming == "loose":
            spelt = [name for name in _listed_names(value) if any(wanted.startswith(name) for wanted in self._wanted)]
            longest = max(spelt, key=len, default="")
            return len(longest), longest
        kinds = (_TOKEN,) if self._naming == "token" else (_TOKEN, _NAME)
        spelt = [leading_name(kind, value) for kind in kinds]
        found = next((name for name in spelt if name and name in self._wanted), "")
        return int(bool(found)), found

    def chosen(self) -> RobotsGroup:
        """Groups that name us replace those for `*` (RFC 9309, 2.2.1), unless `*` is one of our names."""
        if not self._ours:
            return self.everyone
        ours = self._ours[max(self._ours)]
        if self._is_anyone:
            ours.rules += self.everyone.rules
        return ours


def names_in(text: str) -> tuple[str, ...]:
    """The names in a user agent, in lower case: "Mozilla/5.0 (compatible; Somebot/2)" has three."""
    return tuple(name for word in _BETWEEN_NAMES.split(text) if (name := leading_name(_NAME, word)))


def _listed_names(value: str) -> list[str]:
    """The names that a user-agent line lists, up to the first word that is not one."""
    words = takewhile(_PLAIN_NAME.fullmatch, _BETWEEN_LISTED.split(value))
    return [leading_name(_NAME, word) for word in words]


def leading_name(kind: re.Pattern[str], value: str) -> str:
    """The name at the beginning of the value, in lower case. A product token has letters, `_` and `-` only (RFC 9309,
    2.2.1), but names with digits are matched in full."""
    match = kind.match(value)
    return match.group().lower() if match else ""


def product_token(value: str) -> str:
    """The product token of a user-agent line by RFC 9309 (2.2.1)."""
    return leading_name(_TOKEN, value)


def parse_delay(value: str) -> float | None:
    """Seconds; None if it is not a usable number."""
    try:
        delay_s = float(value)
    except ValueError:
        return None
    return delay_s if math.isfinite(delay_s) and delay_s >= 0 else None


def parse_recrawl_delay(value: str) -> float | None:
    """Seconds, or a number of minutes, hours or days (`12h`); None if it is not a usable number."""
    unit = value[-1:].lower()
    if not unit.isalpha():
        return parse_delay(value)
    asked = parse_delay(value[:-1]) if unit in _UNIT_S else None
    return None if asked is None else asked * _UNIT_S[unit]


def parse_rate(value: str) -> float | None:
    """The delay for `3/15m` (fetches per time). Hours of the day after it are ignored: the delay always applies."""
    found = _RATE.match(value)
    if found is None or int(found[1]) == 0:
        return None
    return int(found[2]) * _UNIT_S[found[3].lower()] / int(found[1])


DELAYS: dict[str, tuple[Callable[[str], float | None], float]] = {
    "delay": (parse_delay, MOST_CRAWL_DELAY_S),
    "rate": (parse_rate, MOST_CRAWL_DELAY_S),
    "recrawl": (parse_recrawl_delay, MOST_RECRAWL_DELAY_S),
}
"""By key: how the value is parsed, and the longest delay that is obeyed, in seconds."""
_NOT_EXTENSIONS = frozenset({"delay", "recrawl", "noindex"})


def _signals_in(value: str) -> list[tuple[str, str]]:
    """`search=yes, ai-train=no` as pairs; empty if any part is written differently."""
    found = [_SIGNAL.fullmatch(part.strip().lower()) for part in value.split(",") if part.strip()]
    return [(one[1], one[2]) for one in found if one is not None] if all(found) else []
