"""What a crawl waits for that has nothing to do: the next visit, until when, and why not before."""

import sqlite3
from collections.abc import Iterable
from typing import Literal

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.codes import REASONS
from gossamer.frontier.sqlite.hosts import LANES_OF, text_of
from gossamer.frontier.sqlite.robots import Rulebook
from gossamer.store.statements import load
from gossamer.values.robots import RobotsState

_SQL = load("gossamer.frontier.sqlite", "awaited.sql")


class Awaited(msgspec.Struct, frozen=True):
    what: Literal["retry", "robots", "revisit", "back-off", "gap"]
    url: str
    until_at: Instant
    why: str = ""
    """How the last visit failed, where that is the reason."""


def awaited(connection: sqlite3.Connection, rulebook: Rulebook, in_back: Iterable[int], now: Instant) -> Awaited | None:
    """The next visit, by the hosts of the front and those with a back queue; None: nothing waits."""
    in_front = [host_id for (host_id,) in connection.execute(_SQL["in_front"]) if host_id is not None]
    host = connection.execute(_SQL["first_of"], (str([*in_front, *in_back]),)).fetchone()
    if host is None:
        return None
    host_id, name, lanes, troubles, at = host
    found = []
    for lane in LANES_OF[lanes]:
        row = connection.execute(_SQL["first_in_lane"], (host_id, lane)).fetchone()
        if row is None:
            continue
        robots = rulebook.entry(connection, host_id, lane)
        if robots is not None and robots.state is RobotsState.UNREACHABLE and robots.expires_at > now:
            until_at = max(at, robots.expires_at)
            found.append(Awaited("robots", text_of(lane, name, "robots.txt"), until_at, robots.trouble))
            continue
        later_at, text, reason, failures, detail = row
        url = text_of(lane, name, text)
        if later_at > now:
            why = f"{REASONS[reason].value}{f' ({detail})' if detail else ''}" if failures else ""
            found.append(Awaited("retry" if failures else "revisit", url, max(at, later_at), why))
        else:
            found.append(Awaited("back-off" if troubles else "gap", url, at))
    return min(found, key=lambda one: one.until_at, default=None)
