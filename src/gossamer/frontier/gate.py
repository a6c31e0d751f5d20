"""What an origin's robots.txt means for its waiting pages right now. Pure."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.robots import HOPELESS, Robots, RobotsState


class Open(msgspec.Struct, frozen=True):
    """Pages may be handed out; the journey judges each by this entry."""

    robots: Robots


class AskFirst(msgspec.Struct, frozen=True):
    """The robots.txt has to be read (again) first. It is unknown, or the entry given has run out."""

    robots: Robots | None


class Shut(msgspec.Struct, frozen=True):
    """The robots.txt cannot be read: nothing before `until`."""

    until: Instant


class Away(msgspec.Struct, frozen=True):
    """The robots.txt has moved and is being asked for elsewhere; its answer opens the gate."""


class GivenUp(msgspec.Struct, frozen=True):
    """It could not be read too often: what waits is settled, unvisited."""

    failures: int


Gate = Open | AskFirst | Shut | Away | GivenUp


def gate_of(robots: Robots | None, now: Instant, tries: int | None) -> Gate:
    """Missing, unreachable and read are different facts (RFC 9309, section 2.3.1). `tries`: see `is_given_up`."""
    if robots is None:
        return AskFirst(None)
    if robots.state is RobotsState.PENDING:
        return Away()
    if robots.expires_at <= now or robots.fetched_at > now:  # from the future: the clock was set back since
        return AskFirst(robots)
    if robots.state is RobotsState.UNREACHABLE:
        return GivenUp(robots.failures) if is_given_up(robots, tries) else Shut(robots.expires_at)
    return Open(robots)


LONG_KNOWN = 24
"""Failures in a row after which even a host whose robots.txt was read before is given up. The waits between them
reach an hour: that is later than the half day after which the last good copy speaks again."""


def is_given_up(robots: Robots, tries: int | None) -> bool:
    """After so many failures in a row. None, in a crawl without end: only where asking again can change nothing."""
    if robots.state is not RobotsState.UNREACHABLE:
        return False
    if tries is None:
        return robots.failures >= HOPELESS
    return robots.failures >= (tries if robots.read_at is None else max(tries, LONG_KNOWN))
