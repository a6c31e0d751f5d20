"""What a robots.txt said, as a value. Parsing and judging are in `gossamer.rules.robots`."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url

HOPELESS = 1_000
"""Failures in a row that only a refusal of our own is counted as: no patience is longer."""


class RobotsState(StrEnum):
    """Missing, unreachable and read are different facts with different expiry (RFC 9309, 2.3.1)."""

    READ = "read"
    MISSING = "missing"  # 4xx: everything may be fetched
    PENDING = "pending"  # redirected: `ask` is the next address to ask, pages wait
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
    """How often in a row it could not be read."""
    ask: Url | None = None
    """PENDING only: where its robots.txt has moved to; asking it is a visit to that address's host."""
    hops: int = 0
    flags: tuple[str, ...] = ()
    read_at: Instant | None = None
    """When `rules` were last read from the host; an unreachable entry keeps the rules of its last good copy."""
    failing_since: Instant | None = None
    """When it was first found unreachable in this row of failures."""
    signals: tuple[tuple[str, str], ...] = ()
    """What its owner wishes to be done with the content (Content-Signal), such as ("ai-train", "no"). Kept as facts:
    they never allow anything."""
    extensions: tuple[tuple[str, str], ...] = ()
    """Other lines beyond RFC 9309 that are known: clean-param, host, visit-time, request-rate; as written."""
    group: str = ""
    """The agent of the group that applies to us: our name, `*`, or nothing when no group does."""
    group_lines: tuple[int, ...] = ()
    """The lines where that group begins; groups of one agent are merged."""
    recrawl_delay_s: float | None = None
    """The least time between two visits to the same page."""
    trouble: str = ""
    """Why it could not be read, the last time."""


class ParsedRobots(msgspec.Struct, frozen=True, array_like=True):
    """One file as it applies to one agent."""

    rules: tuple[RobotsRule, ...] = ()
    """Patterns in normal form, the longest first: the first that matches decides."""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    """As written, in order; they speak to every agent."""
    flags: tuple[str, ...] = ()
    """What was odd: "too-long", "utf-16", "nul", "html", "not-robots", "no-agent"."""
    signals: tuple[tuple[str, str], ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    group: str = ""
    group_lines: tuple[int, ...] = ()
    recrawl_delay_s: float | None = None
