"""A parsed robots.txt, and the entry of an origin.

`rules.robots_parser` parses, `rules.robots` matches.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url

HOPELESS = 1_000
"""The failure count for a refusal of our own: above any setting of patience."""

Naming = Literal["name", "token", "loose"]
"""How user agents are matched. All ignore case.

name: by the whole name; several words are several names. This is what a crawl uses.
token: strictly by RFC 9309 (2.2.1), like Google's parser: letters, `_` and `-` only, so that `AB42bot` in a file means
`AB`, and an agent with a digit in its name never matches.
loose: like older crawlers: a name that begins with the one in the file matches, the longest one wins; a line may list
several.
"""


class RobotsState(StrEnum):
    """Missing, unreachable and read are different states with different expiry (RFC 9309, 2.3.1)."""

    READ = "read"
    MISSING = "missing"  # 4xx: everything may be fetched
    PENDING = "pending"  # redirected: `ask` is the next URL to request; pages wait
    UNREACHABLE = "unreachable"  # 5xx, 429, no connection: nothing may be fetched for now


class RobotsRule(msgspec.Struct, frozen=True, array_like=True):
    allows: bool
    pattern: str
    line: int


class Robots(msgspec.Struct, frozen=True):
    """One origin's robots.txt as it applies to us."""

    origin: str
    state: RobotsState
    fetched_at: Instant
    expires_at: Instant
    rules: tuple[RobotsRule, ...] = ()
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    failures: int = 0
    """Consecutive failures to read it."""
    ask: Url | None = None
    """PENDING only: where its robots.txt has moved to; requesting it is a visit to that URL's host."""
    hops: int = 0
    flags: tuple[str, ...] = ()
    read_at: Instant | None = None
    """When `rules` were last read from the host; an unreachable entry keeps those of its last good copy."""
    failing_since: Instant | None = None
    """When the current series of failures began."""
    signals: tuple[tuple[str, str], ...] = ()
    """The owner's wishes for the use of the content (Content-Signal), such as ("ai-train", "no"). Recorded only: they
    never allow anything."""
    extensions: tuple[tuple[str, str], ...] = ()
    """Known lines beyond RFC 9309, as written: clean-param, host, visit-time, request-rate."""
    group: str = ""
    """The user agent of the group that applies to us: our name, `*`, or empty if none does."""
    group_lines: tuple[int, ...] = ()
    """The lines where that group begins; groups with the same user agent are merged."""
    recrawl_delay_s: float | None = None
    """Minimum time between two visits to the same page."""
    trouble: str = ""
    """Why it could not be read the last time."""


class ParsedRobots(msgspec.Struct, frozen=True, array_like=True):
    """One robots.txt as it applies to one user agent."""

    rules: tuple[RobotsRule, ...] = ()
    """Patterns in normal form, longest first: the first match decides."""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    """As written, in order; they apply to every user agent."""
    flags: tuple[str, ...] = ()
    """What was odd: "too-long", "utf-16", "nul", "html", "not-robots", "no-agent"."""
    signals: tuple[tuple[str, str], ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    group: str = ""
    group_lines: tuple[int, ...] = ()
    recrawl_delay_s: float | None = None
