"""A new start for what failed: the person gives the same command again because the trouble is mended."""

import math
import sqlite3
from collections.abc import Sequence

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.codes import HOWS, REASON_CODES, REASONS
from gossamer.frontier.priority import MOST_NUDGE, priority_of
from gossamer.frontier.sqlite.hosts import find_host_id, parts_of
from gossamer.frontier.sqlite.merge import next_sequence
from gossamer.frontier.sqlite.robots import Rulebook
from gossamer.frontier.sqlite.sieve import Keys
from gossamer.frontier.sqlite.sooner import moved_to
from gossamer.recrawl.retry import TRANSIENT
from gossamer.store import tallies
from gossamer.store.statements import load
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.past import Past, decoded, encoded
from gossamer.values.robots import Robots
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Settled

_SQL = load("gossamer.frontier.sqlite", "revival.sql")
MENDABLE = TRANSIENT | {Reason.ROBOTS_UNREACHABLE, Reason.CONTACT, Reason.ADDRESS, Reason.TLS}
"""Ends that a setting, a server or a network may have been mended of since."""
MOST_READ_AGAIN = 20
"""Sitemaps that one robots.txt can have read again."""


def revive(connection: sqlite3.Connection, seeds: Sequence[Url], keys: Keys) -> int:
    """Queue seeds again that ended in a mendable way, and whatever was given up for want of a robots.txt.

    REQUIRES: no robots entry is held in memory yet. Says how many wait again.
    """
    rows: list[tuple[int, int, int, int]] = []
    for seed in seeds:
        key = _key(connection, seed, keys)
        rows += [row[:4] for row in connection.execute(_SQL["ended"], key) if REASONS[row[4]] in MENDABLE]
    if tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE):
        given_up = REASON_CODES[Reason.ROBOTS_UNREACHABLE]
        rows += connection.execute(_SQL["ended_as"], (given_up,)).fetchall()
    revived = dict.fromkeys(rows)
    forget_robots(connection, list(dict.fromkeys([(host_id, lane) for host_id, _, lane, _ in revived])))
    _queue_again(connection, list(revived))
    return len(revived)


def fetch_again(connection: sqlite3.Connection, urls: Sequence[Url], keys: Keys, now: Instant) -> int:
    """Make pages due whose kept content is damaged; the next answer is taken whole, whatever was kept before. Says how
    many of them are known and were not waiting already."""
    due = 0
    for url in urls:
        host_id, number = _key(connection, url, keys)
        if host_id is None:
            continue
        row = connection.execute(_SQL["past"], (host_id, number)).fetchone()
        if (past := decoded(row[0]) if row is not None else None) is not None:
            connection.execute(_SQL["past_noted"], (encoded(past.without_body()), host_id, number))
        ended = connection.execute(_SQL["ended"], (host_id, number)).fetchall()
        _queue_again(connection, [one[:4] for one in ended])
        due += bool(ended) or moved_to(connection, host_id, number, now)
    return due


def recall(connection: sqlite3.Connection, rulebook: Rulebook, now: Instant) -> int:
    """Queue every page again that was fetched and waits for nothing: the crawl comes back to pages from now on, to each
    when its host's Recrawl-delay is over."""
    rows: list[tuple[int, int, int, int, int, Instant]] = []
    for reason in (Reason.FETCHED, Reason.UNCHANGED):
        rows += connection.execute(_SQL["fetched"], (REASON_CODES[reason],)).fetchall()
    places = [(host_id, number, lane, priority_of(HOWS[how], depth)) for host_id, number, lane, depth, how, _ in rows]
    free = [
        free_at(settled_at, rulebook.entry(connection, host_id, lane)) for host_id, _, lane, _, _, settled_at in rows
    ]
    queue_at(connection, places, [at if at > now else 0 for at in free])
    fetched = [(host_id, number, settled_at) for host_id, number, _, _, _, settled_at in rows]
    begin_pasts(connection, fetched, [max(now, at) for at in free])
    return len(rows)


def free_at(settled_at: Instant, robots: Robots | None) -> Instant:
    """When a page may be visited again, as its host asks; 0: at any time."""
    delay_s = robots.recrawl_delay_s if robots is not None else None
    return settled_at + math.ceil(delay_s * SECOND) if delay_s else 0


def begin_pasts(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, Instant]], due_ats: Sequence[Instant]
) -> None:
    """Of pages with their host id, id, and when they were fetched: the least that is remembered of each."""
    pasts = [
        (host_id, number, encoded(begun(settled_at, due_at)))
        for (host_id, number, settled_at), due_at in zip(rows, due_ats, strict=True)
    ]
    connection.executemany(_SQL["past_begun"], pasts)


def forget_robots(connection: sqlite3.Connection, lanes: Sequence[tuple[int, int]]) -> None:
    """The robots.txt of each host id and lane is asked for afresh."""
    connection.executemany(_SQL["robots_forgotten"], lanes)


def begun(settled_at: Instant, due_at: Instant) -> Past:
    """Of a page from before the crawl came back to any: if it is gone by now, the views must hear of it."""
    return Past(settled_at, due_at, is_page=True)


def _queue_again(connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int, int]]) -> None:
    queue_at(connection, [(*row[:3], priority_again(row[3])) for row in rows], [0] * len(rows))


def queue_at(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, int, int]], later_ats: Sequence[Instant]
) -> None:
    """Of each the host id, id, lane and priority, and until when it waits; 0: it is due."""
    first = next_sequence(connection, len(rows))
    for place, ((host_id, number, lane, priority), later_at) in enumerate(zip(rows, later_ats, strict=True)):
        connection.execute(_SQL["queued_again"], (host_id, lane, later_at, priority, first + place, number))
        connection.execute(_SQL["end_revived"], (later_at or None, host_id, number))
        connection.execute(_SQL["host_got_one"], (1 << lane, later_at or None, host_id))
    tallies.add(connection, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})


def newly_named(settled: Settled) -> list[Url]:
    """Sitemaps that a robots.txt names for the first time. What such a map said of this host before was nobody's word,
    or the crawl did not reach here yet."""
    before = settled.visit.robots.sitemaps if settled.visit.robots is not None else ()
    named = settled.robots.sitemaps if settled.robots is not None else ()
    urls = [url_of(text) for text in named if text not in before]
    return [url for url in urls if url is not None][:MOST_READ_AGAIN]


def maps_for(connection: sqlite3.Connection, rulebook: Rulebook, seed: Url) -> list[Url]:
    """Sitemaps that the robots.txt of a new seed is known to name: they may have been read when the crawl did not reach
    as far as it does now."""
    lane, name, _ = parts_of(seed.text)
    host_id = find_host_id(connection, name)
    robots = None if host_id is None else rulebook.entry(connection, host_id, lane)
    urls = [url_of(text) for text in robots.sitemaps] if robots is not None else []
    return [url for url in urls if url is not None][:MOST_READ_AGAIN]


def read_again(connection: sqlite3.Connection, maps: Sequence[Url], keys: Keys) -> None:
    """Queue those of them again that were read before."""
    for url in maps:
        rows = connection.execute(_SQL["ended"], _key(connection, url, keys)).fetchall()
        _queue_again(connection, [row[:4] for row in rows if REASONS[row[4]] is Reason.FETCHED])


def _key(connection: sqlite3.Connection, url: Url, keys: Keys) -> tuple[int | None, int]:
    _, name, _ = parts_of(url.text)
    return find_host_id(connection, name), keys.url_id(url.text if keys.identity is None else keys.identity(url.text))


def priority_again(depth: int) -> int:
    """Before the others of its depth."""
    return priority_of(How.LINK, depth, nudge=-MOST_NUDGE)
