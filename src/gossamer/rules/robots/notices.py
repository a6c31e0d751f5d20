"""What the author of a robots.txt should hear about it: lines that are ignored, mended or misread."""

from collections.abc import Iterator

import msgspec

from gossamer.rules.robots.matcher import names_nobody, parse
from gossamer.rules.robots.parser import (
    EVERYONE,
    MOST_BYTES,
    MOST_CRAWL_DELAY_S,
    MOST_RECRAWL_DELAY_S,
    RULES,
    UNKNOWN,
    Naming,
    RobotsLine,
    delay_asked,
    line_count,
    lines_of,
    plain_lines,
    product_token,
    rate_asked,
    recrawl_asked,
    text_of,
    written,
)
from gossamer.values.robots import ParsedRobots

MOST_ODDITIES = 200
LONGEST_SHOWN = 120
RIGHT = {
    "agent": "user-agent",
    "allow": "allow",
    "disallow": "disallow",
    "delay": "crawl-delay",
    "recrawl": "recrawl-delay",
    "sitemap": "sitemap",
    "rate": "request-rate",
}
FLAGS_MEAN = {
    "utf-16": "the file is UTF-16; robots.txt is to be UTF-8 (RFC 9309, 2.2)",
    "nul": "the file holds zero bytes; they are skipped",
    "html": "this is a web page, not a robots.txt: it forbids nothing",
    "not-robots": "nothing in it is a line of a robots.txt: it forbids nothing",
    "no-agent": "no line names an agent; its rules are taken to be for everybody",
}


class RobotsNotice(msgspec.Struct, frozen=True):
    line: int | None
    """From 1; None: the whole file."""
    kind: str
    """A stable code, such as "unknown", "misspelt", "orphan", "beyond"."""
    says: str


class RobotsSurvey(msgspec.Struct, frozen=True):
    """A file as one agent reads it, and what is odd about it."""

    parsed: ParsedRobots
    oddities: tuple[RobotsNotice, ...] = ()


def survey(body: bytes, agent: str, naming: Naming = "name") -> RobotsSurvey:
    """Never raises, whatever the bytes are."""
    parsed = parse(body, agent, naming)
    found: list[RobotsNotice] = []
    for oddity in _oddities(body, parsed):
        if len(found) == MOST_ODDITIES:
            found.append(RobotsNotice(None, "more", f"only the first {MOST_ODDITIES} oddities are told"))
            break
        found.append(oddity)
    return RobotsSurvey(parsed, tuple(found))


def _oddities(body: bytes, parsed: ParsedRobots) -> Iterator[RobotsNotice]:
    for flag in parsed.flags:
        if flag in FLAGS_MEAN:
            yield RobotsNotice(None, flag, FLAGS_MEAN[flag])
    text, _ = text_of(body)
    if "too-long" in parsed.flags:
        yield RobotsNotice(
            line_count(text),
            "beyond",
            f"from this line on nothing is read: {MOST_BYTES // 1024} KiB are enough",
        )
    if {"html", "not-robots"} & set(parsed.flags):
        return
    lines = lines_of(text)
    yield from sorted(_of_lines(text, lines), key=lambda oddity: oddity.line or 0)


def _of_lines(text: str, lines: list[RobotsLine]) -> Iterator[RobotsNotice]:
    read = {line.number for line in lines}
    bare = {line.number for line in written(text)} - read
    for number, words in plain_lines(text):
        if number in bare:
            yield RobotsNotice(
                number, "no-colon", f"has no colon, while other lines have one; ignored: {_shown(words)}"
            )
        elif number not in read:
            yield RobotsNotice(number, "unread", f"not a directive; ignored: {_shown(words)}")
    has_agent, is_for_all = False, names_nobody(lines, text)
    for line in lines:
        has_agent = has_agent or line.key == "agent"
        if line.key in ("allow", "disallow") and not has_agent and not is_for_all:
            yield RobotsNotice(line.number, "orphan", "a rule before any user-agent speaks to nobody; ignored")
        yield from _of_line(line)


def _of_line(line: RobotsLine) -> Iterator[RobotsNotice]:
    number, key, name, value, has_colon = line
    if key == UNKNOWN:
        yield RobotsNotice(number, "unknown", f"unknown directive; ignored: {_shown(name)}")
        return
    right = RIGHT.get(key, name)
    if name != right:
        yield RobotsNotice(number, "misspelt", f"{name} is read as {right}")
    if not has_colon:
        yield RobotsNotice(number, "no-colon", f"has no colon; read as {right}: {_shown(value)}")
    if key in RULES or key in ("delay", "rate", "recrawl", "sitemap"):
        yield from (RobotsNotice(number, kind, says) for kind, says in _of_value(key, value))


def _of_value(key: str, value: str) -> Iterator[tuple[str, str]]:
    match key:
        case "agent":
            token = product_token(value)
            if not value:
                yield "no-name", "names no agent; ignored"
            elif value[:1] != EVERYONE and token != value.partition("/")[0].lower():
                yield (
                    "no-token",
                    f"{_shown(value)} is no product token; by the letter of the standard it means {token!r}",
                )
        case "allow" | "disallow" if value and value[0] not in "/*$":
            yield "no-path", f"a path begins with /; this matches nothing: {_shown(value)}"
        case "delay" | "rate":
            asked = delay_asked(value) if key == "delay" else rate_asked(value)
            if asked is None:
                yield "no-number", f"not a number we understand; ignored: {_shown(value)}"
            elif asked > MOST_CRAWL_DELAY_S:
                yield "delay-cut", f"asks for {asked:g} s between visits; {MOST_CRAWL_DELAY_S:g} s are kept"
        case "recrawl":
            asked = recrawl_asked(value)
            if asked is None:
                yield "no-number", f"not a number we understand; ignored: {_shown(value)}"
            elif asked > MOST_RECRAWL_DELAY_S:
                yield "delay-cut", f"asks for {asked:g} s between visits; {MOST_RECRAWL_DELAY_S:g} s are kept"
        case "sitemap" if "://" not in value:
            yield "relative", f"a sitemap is to be named by its whole address: {_shown(value)}"
        case _:
            pass


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
