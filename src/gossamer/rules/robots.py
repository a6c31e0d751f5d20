"""What sites ask of robots: robots.txt (RFC 9309), and the directives of a page.

Those are meta robots and X-Robots-Tag.

robots.txt is parsed in a worker, since the bytes are untrusted; the crawler only judges URLs. Patterns are normalised
when parsed and URLs when judged, so that `judge` only compares text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import compress, islice, repeat
from operator import contains

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.rules.robots_parser import (
    DELAYS,
    EVERYONE,
    MOST_BYTES,
    MOST_EXTENSIONS,
    RULES,
    UNKNOWN,
    Groups,
    RobotsGroup,
    RobotsLine,
    line_count,
    lines_as_written,
    lines_of,
    matches,
    normal_target,
    plain_lines,
    product_token,
    text_of,
)
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.page import Directives
from gossamer.values.robots import Naming, ParsedRobots, Robots, RobotsRule, RobotsState
from gossamer.values.url import Url

MOST_SITEMAPS = 1000
MANY = 64
"""From this many rules on it pays to search for their literal parts first."""
_MOST_PIECES = 16
MOST_WORK = 3_000_000
"""Characters that wildcard patterns may be compared with for one verdict: some milliseconds."""


def parse(body: bytes, agent: str, naming: Naming = "name") -> ParsedRobots:
    """The rules for `agent` (a product token such as "Gossamer"). Never raises: a broken file allows everything."""
    text, flags = text_of(body)
    lines = lines_of(text)
    groups = Groups(agent, naming)
    whole, sitemaps = RobotsGroup(), dict[str, None]()
    open_groups = [groups.orphans]
    is_agents = False  # whether the last lines name agents: a further one joins the same group
    for line in lines:
        key = line.key
        if key == "agent":
            if not is_agents:
                open_groups = []
            is_agents = True
            for group in groups.named(line.value):
                if group not in open_groups:
                    group.lines.append(line.number)
                    open_groups.append(group)
        elif key == "sitemap":
            if line.value and len(sitemaps) < MOST_SITEMAPS:
                sitemaps[line.value] = None
        elif key in _FILE_WIDE:
            whole.add(line)
        elif key != UNKNOWN:
            is_agents = is_agents and key not in _ENDS_AGENTS
            for group in open_groups:
                group.add(line)
    if not any(line.key in _TYPICAL for line in lines) and text.strip():
        flags.append("html" if text.lstrip()[:1] == "<" else "not-robots")
    if has_no_agents(lines, text) and groups.orphans.rules:
        groups.orphans.name = EVERYONE
        flags.append("no-agent")
        return _parsed(groups.orphans, groups.orphans, whole, sitemaps, flags)
    return _parsed(groups.chosen(), groups.orphans, whole, sitemaps, flags)


def has_no_agents(lines: Sequence[RobotsLine], text: str) -> bool:
    """Whether the file starts with rules and names no user agent: they are meant for all. An unreadable line before
    them may have named one."""
    if not lines or any(line.key == "agent" for line in lines):
        return False
    first_at, _ = next(plain_lines(text))
    return lines[0].number == first_at and lines[0].key != UNKNOWN


_TYPICAL = RULES | {"delay", "sitemap"}
"""Keys that tell a robots.txt from other text."""
_FILE_WIDE = frozenset({"host", "clean-param"})
_ENDS_AGENTS = frozenset({"allow", "disallow", "noindex"})
"""Rules. Any other line between two user agents does not separate them (RFC 9309, 2.2.1 and 2.2.4)."""


def _parsed(
    chosen: RobotsGroup, orphans: RobotsGroup, whole: RobotsGroup, sitemaps: dict[str, None], flags: list[str]
) -> ParsedRobots:
    """Signals before any user agent apply to all; rules before any user agent only in a file that names none."""
    return ParsedRobots(
        rules=tuple(sorted(chosen.rules, key=precedence)),
        crawl_delay_s=chosen.delay_s("delay", "rate"),
        sitemaps=tuple(sitemaps),
        flags=tuple(flags),
        signals=tuple(orphans.signals | chosen.signals),
        extensions=tuple(whole.extensions | chosen.extensions),
        group=chosen.name,
        group_lines=tuple(chosen.lines[:MOST_EXTENSIONS]),
        recrawl_delay_s=chosen.delay_s("recrawl"),
    )


def judge(url: Url, robots: Robots) -> Allowed | Denied:
    """The longest matching pattern decides; Allow wins a tie (RFC 9309, 2.2.2). robots.txt itself is always allowed."""
    if robots.state is RobotsState.MISSING:
        return Allowed()
    if robots.state is not RobotsState.READ:
        return Denied(f"robots.txt of {robots.origin} could not be read")
    target = url.target
    if target == "/robots.txt":
        return Allowed()
    target = normal_target(target)
    best: RobotsRule | None = None
    length, work_left = -1, MOST_WORK
    for rule in robots.rules if len(robots.rules) < MANY else likely_rules(robots.rules, target):
        pattern = rule.pattern
        if "*" in pattern or pattern[-1:] == "$":
            if len(pattern) < length:
                continue
            work_left -= len(target)
            if work_left < 0:
                return TOO_MUCH_WORK
            if not matches(pattern, target):
                continue
        elif not target.startswith(pattern):
            continue
        if len(pattern) > length or (len(pattern) == length and rule.allows):
            best, length = rule, len(pattern)
    if best is None or best.allows:
        return Allowed()
    return Denied(in_words(best))


def likely_rules(rules: tuple[RobotsRule, ...], target: str) -> Iterable[RobotsRule]:
    """Of many rules, those whose longest literal part occurs in the target: a chain of C functions excludes nearly all.
    All rules if even that is too much work: the caller stops at its limit."""
    if len(rules) * len(target) > MOST_WORK:
        return rules
    return compress(rules, map(contains, repeat(target), pieces_of(rules)))


def pieces_of(rules: tuple[RobotsRule, ...]) -> tuple[str, ...]:
    """The longest literal part of each pattern, computed once per file. The cache is keyed by `id`, and holds the rules
    so that their id is not used again."""
    held = _PIECES.pop(id(rules), None)
    if held is None:
        held = (rules, tuple([max(rule.pattern.removesuffix("$").split("*"), key=len) for rule in rules]))
    _PIECES[id(rules)] = held
    if len(_PIECES) > _MOST_PIECES:
        del _PIECES[next(iter(_PIECES))]
    return held[1]


_PIECES: dict[int, tuple[tuple[RobotsRule, ...], tuple[str, ...]]] = {}

TOO_MUCH_WORK = Denied("robots.txt has too many patterns for a URL this long")


def in_words(rule: RobotsRule) -> str:
    where = f" (line {rule.line})" if rule.line else ""
    return f"{'Allow' if rule.allows else 'Disallow'}: {rule.pattern}{where}"


class Explained(msgspec.Struct, frozen=True):
    """A verdict with its reasons, for people."""

    verdict: Allowed | Denied
    because: str
    """One sentence."""
    rule: RobotsRule | None = None
    """The line that decides, if any."""
    group: str = ""
    """The user agent of the group that applies: our name, `*`, or empty if none does."""
    candidates: tuple[RobotsRule, ...] = ()
    """All matching rules, the strongest first, whether or not a rule decides."""


def explain(url: Url, robots: Robots) -> Explained:
    """The verdict of `judge` with its reasons; both agree for every URL."""
    verdict = judge(url, robots)
    if robots.state is RobotsState.MISSING:
        return Explained(verdict, f"{robots.origin} has no robots.txt: everything may be fetched")
    if robots.state is not RobotsState.READ:
        return Explained(verdict, f"robots.txt of {robots.origin} could not be read: nothing may be fetched for now")
    if verdict == TOO_MUCH_WORK:
        return Explained(verdict, TOO_MUCH_WORK.rule, group=robots.group)
    target = normal_target(url.target)
    found = [rule for rule in robots.rules if matches(rule.pattern, target)]
    candidates = tuple(sorted(found, key=precedence))
    if url.target == "/robots.txt":
        return Explained(verdict, "robots.txt itself may always be fetched", None, robots.group, candidates)
    rule = candidates[0] if candidates else None
    return Explained(verdict, in_words(rule) if rule else _without_rule(robots), rule, robots.group, candidates)


def _without_rule(robots: Robots) -> str:
    if not robots.rules:
        return f"the group of {robots.group} has no rules" if robots.group else "no group applies to this user agent"
    return f"no rule of the group of {robots.group} matches" if robots.group else "no rule matches"


def precedence(rule: RobotsRule) -> tuple[int, bool]:
    """A sort key: the deciding rule comes first."""
    return -len(rule.pattern), not rule.allows


MOST_ODDITIES = 200
LONGEST_SHOWN = 120
STANDARD_NAMES = {
    "agent": "user-agent",
    "delay": "crawl-delay",
    "recrawl": "recrawl-delay",
    "rate": "request-rate",
    **{name: name for name in ("allow", "disallow", "sitemap")},
}
FLAG_MESSAGES = {
    "utf-16": "the file is UTF-16; robots.txt must be UTF-8 (RFC 9309, 2.2)",
    "nul": "the file contains zero bytes, which are ignored",
    "html": "this is a web page, not a robots.txt: it disallows nothing",
    "not-robots": "no line of it belongs in a robots.txt: it disallows nothing",
    "no-agent": "no line names a user agent; the rules are taken to apply to all",
}


class RobotsNotice(msgspec.Struct, frozen=True):
    line: int | None
    """From 1; None: the whole file."""
    kind: str
    """A stable code, such as "unknown", "misspelt", "orphan", "beyond"."""
    says: str


class RobotsSurvey(msgspec.Struct, frozen=True):
    """A robots.txt as one user agent reads it, and its oddities."""

    parsed: ParsedRobots
    oddities: tuple[RobotsNotice, ...] = ()


def survey(body: bytes, agent: str, naming: Naming = "name") -> RobotsSurvey:
    """Never raises."""
    parsed = parse(body, agent, naming)
    found = list(islice(_notices(body, parsed), MOST_ODDITIES + 1))
    if len(found) > MOST_ODDITIES:
        found[-1] = RobotsNotice(None, "more", f"only the first {MOST_ODDITIES} problems are listed")
    return RobotsSurvey(parsed, tuple(found))


def _notices(body: bytes, parsed: ParsedRobots) -> Iterator[RobotsNotice]:
    yield from [RobotsNotice(None, flag, FLAG_MESSAGES[flag]) for flag in parsed.flags if flag in FLAG_MESSAGES]
    text, _ = text_of(body)
    if "too-long" in parsed.flags:
        says = f"nothing is read from this line on: the limit is {MOST_BYTES // 1024} KiB"
        yield RobotsNotice(line_count(text), "beyond", says)
    if {"html", "not-robots"} & set(parsed.flags):
        return
    lines = lines_of(text)
    yield from sorted(_line_notices(text, lines), key=lambda oddity: oddity.line or 0)


def _line_notices(text: str, lines: list[RobotsLine]) -> Iterator[RobotsNotice]:
    read = {line.number for line in lines}
    bare = {line.number for line in lines_as_written(text)} - read
    for number, words in plain_lines(text):
        if number in bare:
            says = f"no colon, although other lines have one; ignored: {_shown(words)}"
            yield RobotsNotice(number, "no-colon", says)
        elif number not in read:
            yield RobotsNotice(number, "unread", f"not a directive; ignored: {_shown(words)}")
    has_agent, is_for_all = False, has_no_agents(lines, text)
    for line in lines:
        has_agent = has_agent or line.key == "agent"
        if line.key in ("allow", "disallow") and not has_agent and not is_for_all:
            yield RobotsNotice(line.number, "orphan", "a rule before any user-agent applies to no agent; ignored")
        yield from _notices_on(line)


def _notices_on(line: RobotsLine) -> Iterator[RobotsNotice]:
    number, key, name, value, has_colon = line
    if key == UNKNOWN:
        yield RobotsNotice(number, "unknown", f"unknown directive; ignored: {_shown(name)}")
        return
    right = STANDARD_NAMES.get(key, name)
    if name != right:
        yield RobotsNotice(number, "misspelt", f"{name} is read as {right}")
    if not has_colon:
        yield RobotsNotice(number, "no-colon", f"no colon; read as {right}: {_shown(value)}")
    if key in RULES or key in DELAYS or key == "sitemap":
        yield from (RobotsNotice(number, kind, says) for kind, says in _value_notices(key, value))


def _value_notices(key: str, value: str) -> Iterator[tuple[str, str]]:
    match key:
        case "agent":
            token = product_token(value)
            if not value:
                yield "no-name", "names no user agent; ignored"
            elif value[:1] != EVERYONE and token != value.partition("/")[0].lower():
                says = f"{_shown(value)} is not a product token; by the standard it means {token!r}"
                yield "no-token", says
        case "allow" | "disallow" if value and value[0] not in "/*$":
            yield "no-path", f"a path must begin with /; this matches nothing: {_shown(value)}"
        case "delay" | "rate" | "recrawl":
            read, most = DELAYS[key]
            asked = read(value)
            if asked is None:
                yield "no-number", f"not a valid number; ignored: {_shown(value)}"
            elif asked > most:
                yield "delay-cut", f"asks for {asked:g} s between fetches; limited to {most:g} s"
        case "sitemap" if "://" not in value:
            yield "relative", f"a sitemap needs an absolute URL: {_shown(value)}"
        case _:
            pass


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


# The directives of a page. Those for all robots and those for us add up; the stricter one wins.

_NOINDEX = frozenset(("noindex", "none"))
_NOFOLLOW = frozenset(("nofollow", "none"))
_NOCACHE = frozenset(("noarchive", "nocache"))
_UNTIL = "unavailable_after"
_NO_SNIPPET = "nosnippet"
_MOST_SNIPPET = "max-snippet"
# Directives that carry a value after a colon; any other word before a colon is the name of a robot.
_VALUED = frozenset((_UNTIL, _MOST_SNIPPET, "max-image-preview", "max-video-preview"))
_NAMED = re.compile(r"\s*([A-Za-z0-9_.*-]+)\s*:(.*)", re.DOTALL)
_WEEKDAY = re.compile(r"\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\s*", re.IGNORECASE)
ALL_ROBOTS = "robots"


def directives_of(
    metas: Iterable[tuple[str, str]], fields: Iterable[str], agent: str, now: Instant | None = None
) -> Directives:
    """`metas` are (name, content) of the page's meta elements, `fields` the values of its X-Robots-Tag fields.

    `agent` is our product name: directives for other robots by name are ignored. A page with a past `unavailable_after`
    is not indexed; without `now` no date has passed.
    """
    ours = agent.lower()
    words: set[str] = set()
    for name, content in metas:
        if name.strip().lower() in (ALL_ROBOTS, ours):
            words |= {part.strip().lower() for part in _parts(content)}
    for value in fields:
        words |= _addressed(value, ours)
    if not words:
        return Directives()
    return Directives(
        may_index=words.isdisjoint(_NOINDEX) and not _is_over(words, now),
        may_follow=words.isdisjoint(_NOFOLLOW),
        may_cache=words.isdisjoint(_NOCACHE),
        most_snippet=_most_snippet(words),
    )


def _most_snippet(words: set[str]) -> int:
    """The strictest of `max-snippet:N` and `nosnippet`; -1 if neither is given."""
    given = [word.partition(":")[2].strip() for word in words if word.partition(":")[0].strip() == _MOST_SNIPPET]
    limits = [int(text) for text in given if text.isascii() and text.isdigit() and len(text) < 10]
    return min([*limits, *([0] if _NO_SNIPPET in words else [])], default=-1)


def _addressed(field: str, ours: str) -> set[str]:
    """The directives of one field that apply to us. A robot's name applies until the next name."""
    for_us, found = True, set[str]()
    for part in _parts(field):
        named = _NAMED.fullmatch(part)
        if named is not None and named[1].lower() not in _VALUED:
            for_us = named[1].lower() in (ours, ALL_ROBOTS, "*")
            part = named[2]
        if for_us:
            found.add(part.strip().lower())
    return found


def _parts(text: str) -> list[str]:
    """Split at commas, except after a weekday, where the comma belongs to a date."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and _WEEKDAY.fullmatch(parts[-1].rpartition(":")[2]):
            parts[-1] += "," + part
        else:
            parts.append(part)
    return parts


def _is_over(words: set[str], now: Instant | None) -> bool:
    if now is None:
        return False
    dates = [word.partition(":")[2].strip() for word in words if word.partition(":")[0].strip() == _UNTIL]
    return any(until is not None and until <= now for until in map(_date, dates))


def _date(text: str) -> Instant | None:
    """A date of RFC 822, RFC 850 or ISO 8601, UTC by default; None if it is none of these."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text.upper())
            return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * SECOND)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None
