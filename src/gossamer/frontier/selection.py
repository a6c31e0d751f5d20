"""Which fetched URLs are queued again, found in either database.

Because an option has changed, a user asks for a retry, or pages are to be revisited. The stores only move them.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from gossamer.frontier.known import ended_urls, find_host_id, keys_of, past_at, robots_entry
from gossamer.frontier.requeue import AT_ONCE, FIRST, HAD, REPAIRABLE, Again, EndRow, free_at, is_selected
from gossamer.frontier.rows import HOWS, REASON_CODES, UrlKeys, text_of
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.history import encoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import Selection

_SQL = load("gossamer.frontier", "selection.sql")


class EndScan(NamedTuple):
    """One pass over visited URLs: a statement, its first values, and the start of its key."""

    statement: str
    given: tuple[int, ...]
    start: tuple[int, ...]


def scans(connection: State, selection: Selection) -> list[EndScan]:
    if selection.urls:
        return [EndScan("", (), ())]
    if selection.host:
        host_id = find_host_id(connection, selection.host)
        return [] if host_id is None else [EndScan("ended_at", (host_id,), (FIRST,))]
    if selection.reasons:
        codes = sorted(REASON_CODES[reason] for reason in selection.reasons)
        return [EndScan("ended_as", (code,), (FIRST, FIRST, FIRST)) for code in codes]
    return [EndScan("ended_all", (), (FIRST, FIRST))]


def scanned(connection: State, selection: Selection, scan: EndScan, after: tuple[int, ...], keys: UrlKeys) -> Again:
    """As many of them as one transaction moves; those that are named, at once."""
    last = None
    if selection.urls:
        found = ended_urls(connection, dict.fromkeys(selection.urls), keys)
    else:
        rows = connection.execute(_SQL[scan.statement], (*scan.given, *after, AT_ONCE)).fetchall()
        found = [EndRow(*row[:8]) for row in rows]
        last = tuple(rows[-1][8:]) if len(rows) == AT_ONCE else None
    return Again([row for row in found if is_selected(row, selection)], last)


def revivable(connection: State, seeds: Iterable[Url], keys: UrlKeys) -> Again:
    """Seeds that failed for a repairable reason, and pages given up because of their robots.txt."""
    named = [row for row in _over(connection, seeds, keys) if row.reason in REPAIRABLE]
    given_up = tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE)
    return Again(list(dict.fromkeys([*named, *(_over_as(connection, Reason.ROBOTS_UNREACHABLE) if given_up else [])])))


def recallable(connection: State) -> Again:
    """Every fetched page that waits for nothing, until the Recrawl-delay of its host is over."""

    @cache
    def entry(host_id: int, lane: int) -> Robots | None:
        return robots_entry(connection, host_id, lane)

    rows = [row for reason in sorted(HAD) for row in _over_as(connection, reason)]
    return Again([row._replace(free_at=free_at(row.settled_at, entry(row.host_id, row.lane))) for row in rows])


def damaged(connection: State, urls: Sequence[Url], keys: UrlKeys) -> Again:
    """Pages whose stored content is damaged: the next response is stored whole, which is noted here."""
    for key in keys_of(connection, urls, keys):
        if (past := past_at(connection, key)) is not None:
            connection.execute(_SQL["past_noted"], (encoded(past.without_body()), *key))
    return Again(ended_urls(connection, dict.fromkeys(urls), keys))


def read_before(connection: State, sitemaps: Iterable[Url], keys: UrlKeys) -> list[EndRow]:
    """Those of these sitemaps that were read, and wait for nothing."""
    return [row for row in _over(connection, sitemaps, keys) if row.reason is Reason.FETCHED]


def _over(connection: State, urls: Iterable[Url], keys: UrlKeys) -> list[EndRow]:
    return [row for row in ended_urls(connection, dict.fromkeys(urls), keys) if row.due_at is None]


def _over_as(connection: State, reason: Reason) -> list[EndRow]:
    return [EndRow(*row) for row in connection.execute(_SQL["over_as"], (REASON_CODES[reason],))]


class Redirect(NamedTuple):
    """A redirect that was followed: from where, how deep, how many before it, and where to."""

    url: Url
    depth: int
    hops: int
    how: How
    to: str


def redirects_after(
    connection: State, after: tuple[int, int, int]
) -> tuple[list[Redirect], tuple[int, int, int] | None]:
    """Some redirects, oldest first, and where to continue."""
    rows = connection.execute(_SQL["redirects"], (REASON_CODES[Reason.MOVED], *after, AT_ONCE)).fetchall()
    found = [
        Redirect(Url(text_of(lane, name, rest)), depth, hops, HOWS[how], detail or "")
        for lane, name, rest, depth, hops, how, detail, *_ in rows
    ]
    return found, tuple(rows[-1][-3:]) if len(rows) == AT_ONCE else None
