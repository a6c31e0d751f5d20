"""The groups of a robots.txt: which agents a line names, and what the lines of a group say."""

import math
import re
from itertools import takewhile
from typing import Literal

from gossamer.rules.robots.parser import Line
from gossamer.rules.robots.patterns import normal_pattern
from gossamer.values.robots import RobotsRule

MOST_CRAWL_DELAY_S = 30.0
MOST_RECRAWL_DELAY_S = 365 * 86_400.0
MOST_SAID = 50
"""Signals, and other extensions, that are kept of one file."""
LONGEST_SAID = 500
EVERYONE = "*"

Naming = Literal["name", "token", "loose"]
"""How the agents of a file are told from each other. All ignore case.

name: by the name, whole; a text of several words is several names. This is how a crawl reads.
token: as RFC 9309 (2.2.1) writes it to the letter, as Google's parser does: letters, `_` and `-` only, so that
`AB42bot` in a file means `AB`, and an agent with a digit in its name is never meant.
loose: as older crawlers do: a name that begins with the one in the file is meant, the longest such; a line may list
several.
"""

_TOKEN = re.compile(r"[A-Za-z_-]*")
_NAME = re.compile(r"[\w-]*")
_PLAIN_NAME = re.compile(r"[\w-][^();]*")
_BETWEEN_NAMES = re.compile(r"[\s,;()]+")
_BETWEEN_LISTED = re.compile(r"[\s,]+")
_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s|$)", re.IGNORECASE)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_SIGNAL = re.compile(r"([a-z0-9-]{1,40})\s*=\s*([a-z0-9-]{1,40})")


class Group:
    """The lines that speak to one set of agents, gathered while reading."""

    def __init__(self) -> None:
        self.name = ""
        self.lines: list[int] = []
        self.rules: list[RobotsRule] = []
        self.delay_s: float | None = None
        self.rate_s: float | None = None
        self.recrawl_s: float | None = None
        self.signals: dict[tuple[str, str], None] = {}
        self.extensions: dict[tuple[str, str], None] = {}

    def hear(self, line: Line) -> None:
        """A line of the group that is not an agent."""
        number, key, name, value, _ = line
        if key in ("allow", "disallow"):
            if value:
                self.rules.append(RobotsRule(key == "allow", normal_pattern(value), number))
        elif key == "delay":
            self.delay_s = delay_asked(value) if self.delay_s is None else self.delay_s
        elif key == "recrawl":
            self.recrawl_s = recrawl_asked(value) if self.recrawl_s is None else self.recrawl_s
        elif key == "signal" and (signals := _signals_in(value)):
            self.signals.update(dict.fromkeys(signals[: MOST_SAID - len(self.signals)]))
        elif key != "noindex":
            if key == "rate":
                self.rate_s = rate_asked(value) if self.rate_s is None else self.rate_s
            if value and len(self.extensions) < MOST_SAID:
                self.extensions[name, value[:LONGEST_SAID]] = None

    def gap_s(self) -> float | None:
        """Crawl-delay and Request-rate ask for the same thing; the longer is obeyed, within bounds."""
        asked = [gap for gap in (self.delay_s, self.rate_s) if gap is not None]
        return min(max(asked), MOST_CRAWL_DELAY_S) if asked else None

    def again_s(self) -> float | None:
        """The least time between two visits to one page."""
        return None if self.recrawl_s is None else min(self.recrawl_s, MOST_RECRAWL_DELAY_S)


class Groups:
    """The groups of a file that may concern one agent."""

    def __init__(self, agent: str, naming: Naming) -> None:
        self._naming = naming
        self._wanted = (agent.lower(),) if naming == "token" else names_in(agent)
        self._is_anyone = EVERYONE in _BETWEEN_NAMES.split(agent)
        self.everyone, self.orphans = Group(), Group()
        self._ours: dict[int, Group] = {}
        """By how many letters of the name they spell; only a loose reading knows more than one."""

    def named(self, value: str) -> list[Group]:
        """The groups that an agent line opens."""
        if value == EVERYONE or (value[:1] == EVERYONE and value[1:2].isspace()):
            self.everyone.name = EVERYONE
            return [self.everyone]
        length, name = self._meant(value)
        if not length:
            return []
        group = self._ours.setdefault(length, Group())
        group.name = group.name or name
        return [group]

    def _meant(self, value: str) -> tuple[int, str]:
        """How well the line names us (0: not at all), and by which name."""
        if self._naming == "loose":
            spelt = [name for name in _listed(value) if any(wanted.startswith(name) for wanted in self._wanted)]
            longest = max(spelt, key=len, default="")
            return len(longest), longest
        spelt = [begins(_TOKEN, value)] if self._naming == "token" else [begins(_TOKEN, value), begins(_NAME, value)]
        found = next((name for name in spelt if name and name in self._wanted), "")
        return int(bool(found)), found

    def chosen(self) -> Group:
        """Whoever is named is meant by those groups alone (RFC 9309, 2.2.1), unless `*` is among its names."""
        if not self._ours:
            return self.everyone
        ours = self._ours[max(self._ours)]
        if self._is_anyone:
            ours.rules += self.everyone.rules
        return ours


def names_in(text: str) -> tuple[str, ...]:
    """The names in an agent's text, in small letters: "Mozilla/5.0 (compatible; Somebot/2)" has three."""
    return tuple(name for word in _BETWEEN_NAMES.split(text) if (name := begins(_NAME, word)))


def _listed(value: str) -> list[str]:
    """The names that an agent line lists, up to the first word that is none."""
    words = takewhile(_PLAIN_NAME.fullmatch, _BETWEEN_LISTED.split(value))
    return [begins(_NAME, word) for word in words]


def begins(kind: re.Pattern[str], value: str) -> str:
    """What the value begins with, in small letters. A product token has letters, `_` and `-` only (RFC 9309, 2.2.1),
    but agents with digits in their names are named in full."""
    match = kind.match(value)
    return match.group().lower() if match else ""


def product_token(value: str) -> str:
    """What RFC 9309 (2.2.1) takes the value of an agent line for."""
    return begins(_TOKEN, value)


def delay_asked(value: str) -> float | None:
    """Seconds; None when it is no number that can be waited for."""
    try:
        delay_s = float(value)
    except ValueError:
        return None
    return delay_s if math.isfinite(delay_s) and delay_s >= 0 else None


def recrawl_asked(value: str) -> float | None:
    """Seconds, or a number of minutes, hours or days (`12h`); None when it is no number that can be waited for."""
    unit = value[-1:].lower()
    if not unit.isalpha():
        return delay_asked(value)
    asked = delay_asked(value[:-1]) if unit in _UNIT_S else None
    return None if asked is None else asked * _UNIT_S[unit]


def rate_asked(value: str) -> float | None:
    """The gap that `3/15m` (so many visits in so long a time) comes to. The hours it may name are not looked at: it
    is kept all day."""
    found = _RATE.match(value)
    if found is None or int(found[1]) == 0:
        return None
    return int(found[2]) * _UNIT_S[found[3].lower()] / int(found[1])


def _signals_in(value: str) -> list[tuple[str, str]]:
    """`search=yes, ai-train=no` as pairs; nothing when any of it is written otherwise."""
    found = [_SIGNAL.fullmatch(part.strip().lower()) for part in value.split(",") if part.strip()]
    return [(one[1], one[2]) for one in found if one is not None] if all(found) else []
