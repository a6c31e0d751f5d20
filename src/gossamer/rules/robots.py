"""robots.txt (RFC 9309): what it says to us, and whether it lets us fetch an address.

Parsing runs in a worker, since the bytes are hostile; judging runs where pages are taken. Patterns are brought to one
normal form when parsed and addresses when judged, so that `judge` only compares text.
"""

import math
import re
from collections.abc import Iterator

import msgspec

from gossamer.rules.verdict import Allowed, Denied
from gossamer.values.robots import Robots, RobotsRule, RobotsState
from gossamer.values.url import Url

MOST_BYTES = 500 * 1024
"""RFC 9309, 2.5: at least this much must be read; more is not."""
MOST_CRAWL_DELAY_S = 30.0
MOST_SITEMAPS = 1000
MOST_WORK = 8_000_000
"""Characters that patterns with stars may be held against for one verdict: some milliseconds."""

_BREAK = re.compile(r"\r\n|\r|\n")
_BR = re.compile(r"(?:<br\s*/?>\s*)+$", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z_-]*")
_NAME = re.compile(r"[\w-]*")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|[^!#&-)+-;=?-Z_a-z~%]|%")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_KEYS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    "allow": "allow",
    # The misspellings are common enough that the large crawlers read them as meant.
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    **dict.fromkeys(("crawl-delay", "crawldelay", "crawl delay"), "delay"),
    **dict.fromkeys(("sitemap", "site-map"), "sitemap"),
}
_PLAIN = frozenset({"user-agent", "useragent", "allow", "disallow"})
"""Keys that may stand before a blank instead of a colon."""


class ParsedRobots(msgspec.Struct, frozen=True, array_like=True):
    """One file as it applies to one agent."""

    rules: tuple[RobotsRule, ...] = ()
    """Patterns in normal form, the longest first: the first that matches decides."""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    """As written, in order; they speak to every agent."""
    flags: tuple[str, ...] = ()
    """What was odd: "too-long", "utf-16", "nul", "html", "not-robots"."""


class _Group:
    """The lines that speak to one set of agents, gathered while reading."""

    def __init__(self) -> None:
        self.is_named = False
        self.rules: list[RobotsRule] = []
        self.delay_s: float | None = None


def parse(body: bytes, agent: str) -> ParsedRobots:
    """What the file says to `agent` (a product token such as "Gossamer"). Never raises: the worst file allows all."""
    text, flags = _text_of(body)
    wanted = _begins(_NAME, agent)
    ours, everyone = _Group(), _Group()
    open_groups: list[_Group] = []
    sitemaps: dict[str, None] = {}
    agents_go_on, understood = False, 0
    for number, key, value in _lines(text):
        understood += 1
        if key == "agent":
            open_groups = open_groups if agents_go_on else []
            agents_go_on = True
            group = _group_named(value, wanted, ours, everyone)
            if group is not None and group not in open_groups:
                group.is_named = True
                open_groups.append(group)
        elif key == "sitemap":
            if value and len(sitemaps) < MOST_SITEMAPS:
                sitemaps[value] = None
        elif key == "delay":
            for group in open_groups:
                group.delay_s = _delay_of(value) if group.delay_s is None else group.delay_s
        else:
            agents_go_on = False
            if value:
                rule = RobotsRule(key == "allow", _normal_pattern(value), number)
                for group in open_groups:
                    group.rules.append(rule)
    if not understood and text.strip():
        flags.append("html" if text.lstrip()[:1] == "<" else "not-robots")
    chosen = ours if ours.is_named else everyone
    return ParsedRobots(_by_precedence(chosen.rules), chosen.delay_s, tuple(sitemaps), tuple(flags))


def judge(url: Url, robots: Robots) -> Allowed | Denied:
    """The longest pattern that matches decides; Allow wins a tie (RFC 9309, 2.2.2). robots.txt itself is free."""
    if robots.state is RobotsState.MISSING:
        return Allowed()
    if robots.state is not RobotsState.READ:
        return Denied(f"robots.txt of {robots.origin} could not be read")
    target = url.target
    if target == "/robots.txt":
        return Allowed()
    target = _normal_target(target)
    best: RobotsRule | None = None
    length, work_left = -1, MOST_WORK
    for rule in robots.rules:
        pattern = rule.pattern
        if len(pattern) < length or (len(pattern) == length and not rule.allows):
            continue
        if "*" in pattern or pattern[-1:] == "$":
            work_left -= len(target)
            if work_left < 0:
                return Denied("robots.txt has too many patterns for so long an address")
            if not matches(pattern, target):
                continue
        elif not target.startswith(pattern):
            continue
        best, length = rule, len(pattern)
    if best is None or best.allows:
        return Allowed()
    return Denied(f"Disallow: {best.pattern} (line {best.line})")


def matches(pattern: str, target: str) -> bool:
    """Whether the pattern matches from the start of the target; both in normal form.

    Each part between stars is looked for once, after the part before it: linear, whatever the pattern.
    """
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    if "*" not in pattern:
        return target == pattern if anchored else target.startswith(pattern)
    first, *between, last = pattern.split("*")
    if not target.startswith(first):
        return False
    at = len(first)
    for part in between:
        found = target.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if anchored:
        return len(target) - len(last) >= at and target.endswith(last)
    return target.find(last, at) >= 0


def _text_of(body: bytes) -> tuple[str, list[str]]:
    """The text within the limit, cut at a line, and what was odd about it."""
    flags: list[str] = []
    if len(body) > MOST_BYTES:
        flags.append("too-long")
        head = body[:MOST_BYTES]
        cut = max(head.rfind(b"\n"), head.rfind(b"\r"))
        body = head[: cut + 1]
    if codec := _utf16_of(body):
        flags.append("utf-16")
        return body.decode(codec, "replace").lstrip("\ufeff"), flags
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xff\xfe", b"\xfe\xff"):  # cut and false marks are met too
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


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number (from 1), key and value of every line we understand."""
    for number, line in enumerate(_BREAK.split(text), 1):
        line = line.partition("#")[0].strip(" \t\v\f")
        if line.endswith(">"):  # written with a tool for web pages
            line = _BR.sub("", line)
        if not line:
            continue
        name, colon, value = line.partition(":")
        if not colon:
            words = line.split()
            if len(words) != 2 or words[0].lower() not in _PLAIN:
                continue
            name, value = words
        if key := _KEYS.get(name.strip(" \t").lower()):
            yield number, key, value.strip(" \t")


def _group_named(value: str, wanted: str, ours: _Group, everyone: _Group) -> _Group | None:
    if value == "*" or (value[:1] == "*" and value[1:2].isspace()):
        return everyone
    return ours if wanted and wanted in (_begins(_TOKEN, value), _begins(_NAME, value)) else None


def _begins(kind: re.Pattern[str], value: str) -> str:
    """What the value begins with, in small letters. A product token has letters, `_` and `-` only (RFC 9309, 2.2.1),
    but agents with digits in their names are named in full."""
    match = kind.match(value)
    return match.group().lower() if match else ""


def _delay_of(value: str) -> float | None:
    try:
        delay_s = float(value)
    except ValueError:
        return None
    return min(delay_s, MOST_CRAWL_DELAY_S) if math.isfinite(delay_s) and delay_s >= 0 else None


def _by_precedence(rules: list[RobotsRule]) -> tuple[RobotsRule, ...]:
    return tuple(sorted(rules, key=lambda rule: (-len(rule.pattern), not rule.allows)))


def _normal_pattern(pattern: str) -> str:
    """Stars stay what they are, and so does a `$` at the end; any other `$` is a plain character."""
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    parts = [_normal_target(part) for part in pattern.split("*")]
    return "*".join(parts) + ("$" if anchored else "")


def _normal_target(text: str) -> str:
    """RFC 9309, 2.2.2: escapes of unreserved characters undone, all others in capitals; what may not stand in an
    address escaped, and `*` and `$` too, which mean something else in a pattern."""
    return _ESCAPE.sub(_escaped, text) if _ESCAPE.search(text) else text


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] == "%" and len(found) == 3:
        character = chr(int(found[1:], 16))
        return character if character in _UNRESERVED else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "replace"))
