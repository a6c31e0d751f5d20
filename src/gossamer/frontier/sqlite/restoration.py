"""The frontier made again from what an archive knows: pages that were visited, how that ended, and what they link to.

Functions on a connection, inside the caller's transaction; the database is a new one.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from gossamer.base.clock import Instant
from gossamer.frontier.codes import REASON_CODES, REASONS
from gossamer.frontier.sqlite.sieve import IncomingKeys, merge_offers
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.capture import Kept
from gossamer.values.link import How, Offer
from gossamer.values.outcome import Reason

_SQL = load("gossamer.frontier.sqlite", "restoration.sql")
_ENDED = load("gossamer.frontier.sqlite")["ended"]
ASK_AGAIN = 429


def reason_of(status: int) -> Reason | None:
    """How a visit with that answer ended; None when the page would have been asked for again."""
    match status // 100:
        case 2:
            return Reason.FETCHED
        case 3:
            return Reason.UNCHANGED if status == 304 else Reason.MOVED
        case 4 if status != ASK_AGAIN:
            return Reason.GONE if status in (404, 410) else Reason.CLIENT_ERROR
        case _:
            return None


def enter_visited(connection: sqlite3.Connection, visited: Sequence[Kept], keys: IncomingKeys) -> None:
    """Pages and how their visits ended, in the order they were made."""
    offers = [Offer(kept.url, How.LINK) for kept in visited if kept.url != kept.url.robots]
    merge_offers(connection, [(None, None, offers)], keys)
    rows = []
    for kept in visited:
        reason = reason_of(kept.status)
        if kept.url != kept.url.robots and reason is not None:
            (laid,) = keys.laid(connection, [Offer(kept.url, How.LINK)], None)
            rows.append((laid[0], laid[1], REASON_CODES[reason], 0, kept.fetched_at, None, None))
    connection.executemany(_ENDED, rows)


def enter_found(connection: sqlite3.Connection, offers: Iterable[Offer], keys: IncomingKeys) -> int:
    """Addresses that pages link to, or seeds; says how many were not known."""
    return merge_offers(connection, [(None, None, list(offers))], keys)


def settle_restored(connection: sqlite3.Connection, rest_until: Instant) -> None:
    """What was visited waits no longer, every host rests until then, and the counters agree."""
    over = connection.execute(_SQL["waiting_ended"]).rowcount
    reasons = {f"{tallies.REASON}{REASONS[code].value}": n for code, n in connection.execute(_SQL["reasons"])}
    tallies.add(connection, {tallies.QUEUED: -over, tallies.SETTLED: over, **reasons})
    connection.execute(_SQL["hosts_rest"], (rest_until,))
