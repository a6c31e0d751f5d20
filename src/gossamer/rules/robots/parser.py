"""The bytes of a robots.txt as numbered lines of a known key and a value. Forgiving, bounded, never raises."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_BYTES = 500 * 1024
"""RFC 9309, 2.5: at least this much must be read; more is not."""
UNKNOWN = ""
"""The key of a line that is written like a directive and is none we know."""

KEYS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    "allow": "allow",
    # The misspellings are common enough that the large crawlers read them as meant.
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
"""A line without a colon, of the keys that are met so."""
_DIRECTIVE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


class Line(NamedTuple):
    number: int
    """From 1."""
    key: str
    """One of the values of `KEYS`, or `UNKNOWN`."""
    name: str
    """The key as written, in small letters."""
    value: str
    has_colon: bool = True


def text_of(body: bytes) -> tuple[str, list[str]]:
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


def lines_of(text: str) -> list[Line]:
    """Every line written like a directive, in order.

    A missing colon is forgiven in a file that has none anywhere: among lines with colons, a line without is a slip of
    another kind, and RFC 9309 (2.2) knows no such line.
    """
    found = list(written(text))
    bare = [line for line in found if not line.has_colon]
    if bare and any(line.has_colon and line.key in RULES for line in found):
        return [line for line in found if line.has_colon]
    return found


def written(text: str) -> Iterator[Line]:
    """The lines as they stand, those without a colon too."""
    for number, line in plain_lines(text):
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip(" \t").lower()
            key = KEYS.get(name, UNKNOWN)
            if key or _DIRECTIVE.fullmatch(name):
                yield Line(number, key, name, value.strip(" \t"))
        elif bare := _BARE.fullmatch(line):
            name = (bare[1] or bare[3]).lower()
            yield Line(number, KEYS[name], name, bare[2] or bare[4], has_colon=False)


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold something beside comments, with their numbers."""
    for number, line in enumerate(_BREAK.split(text), 1):
        line = line.partition("#")[0].strip(" \t\v\f")
        if line.endswith(">"):  # written with a tool for web pages
            line = _BR.sub("", line)
        if line:
            yield number, line


def line_count(text: str) -> int:
    """Lines begun, the empty one after a last break too."""
    return len(_BREAK.findall(text)) + 1
