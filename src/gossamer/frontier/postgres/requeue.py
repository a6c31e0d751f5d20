"""Requeueing and rescheduling in the shared frontier: fetched URLs wait again."""

from collections.abc import Iterable, Mapping, Sequence

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering
from gossamer.frontier.requeue import HAD, Again, EndRow, begun, rescheduled
from gossamer.frontier.rows import lane_of
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.statements import load
from gossamer.values.history import Past, Reschedule, decoded, encoded
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.postgres")
Key = tuple[int, int]
"""Host id and id of a URL."""
NamedKey = tuple[int | None, int]
"""The same for a URL whose host may not be known."""


def requeue(connection: Connection, worker_id: int, found: Again, rules: FrontierRules, now: SharedMoment) -> int:
    """Returns how many are newly queued or due earlier."""
    done = Again(queue_again(connection, worker_id, found.over, rules, now))
    had = [row for row in done.rows if row.reason in HAD]
    if had:
        ahead = now.ahead
        pasts = [(row.host_id, row.id, encoded(begun(row.settled_at, max(now.at, row.free_at) - ahead))) for row in had]
        connection.execute(_SQL["pasts_begun"], columns("host_ids ids pasts", pasts))
    if unasked := done.unasked():
        connection.execute(_SQL["robots_forgotten"], columns("hosts lanes", unasked))
    if forgiven := done.forgiven():
        connection.execute(_SQL["troubles_forgotten"], {"hosts": forgiven})
    later = {(row.host_id, row.id): (row.lane, now.at) for row in found.later(now.at)}
    return len(done.rows) + (len(move_earlier(connection, later)) if later else 0)


def queue_again(
    connection: Connection, worker_id: int, over: Sequence[EndRow], rules: FrontierRules, now: SharedMoment
) -> list[EndRow]:
    """Queue URLs that wait for nothing, as if they had never failed; returns those that no other crawler has queued
    meanwhile."""
    if not over:
        return []
    free = {(row.host_id, row.id): row.free_at if row.free_at > now.at else 0 for row in over}
    given = columns("host_ids ids later_ats", [(*key, later_at or None) for key, later_at in free.items()])
    moved = set(connection.execute(_SQL["requeued"], given).fetchall())
    rows = [row for row in over if row[:2] in moved]
    if rows:
        (number,) = connection.execute(_SQL["offer_number"]).fetchone() or (0,)
        places = enumerate(rows, number * MOST_AT_ONCE)
        waits = [(row.host_id, row.lane, row.priority, place, row.id, free[row[:2]]) for place, row in places]
        connection.execute(_SQL["queued"], columns("host_ids lanes priorities sequences ids later_ats", waits))
        Entering(connection, rules).mail(sorted({row.host_id for row in rows}))
        tally(connection, worker_id, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})
    return rows


def pasts_of(connection: Connection, urls: Sequence[Url], rules: FrontierRules) -> list[Past | None]:
    """What is remembered about each page. In two statements, while `known.pasts_of` needs two for each URL."""
    keys = _keys(connection, urls, rules)
    found = _pasts_at(connection, keys)
    return [None if key[0] is None else found.get((key[0], key[1])) for key in keys]


def reschedule(connection: Connection, changes: Sequence[Reschedule], rules: FrontierRules, now: SharedMoment) -> int:
    """Returns how many moved. Hosts that are locked by another crawler are skipped."""
    keys = _keys(connection, [one.url for one in changes], rules)
    free = _locked(connection, keys)  # first: the crawler that has a host may be about to change what is remembered
    pasts = _pasts_at(connection, [key for key in keys if key[0] in free])
    found = [(key, one, pasts[key]) for key, one in zip(keys, changes, strict=True) if key in pasts]
    due = {
        key: (lane_of(one.url.text), max(1, now.shared(one.due_at))) for key, one, _ in found if one.due_at is not None
    }
    moved = move_earlier(connection, due)
    after = {key: known for key, one, past in found if (known := rescheduled(past, one, key in moved)) != past}
    _note(connection, after)
    return len(moved)


def move_earlier(connection: Connection, due: dict[Key, tuple[int, Instant]]) -> set[Key]:
    """Make pages due earlier, given the lane and new time of each; returns those that moved. Hosts that are locked by
    another crawler are skipped."""
    free = _locked(connection, due)
    moved, soonest = set[Key](), dict[int, Instant]()
    for key, (lane, due_at) in due.items():
        given = {"host_id": key[0], "id": key[1], "lane": lane, "due_at": due_at}
        if key[0] in free and connection.execute(_SQL["moved_sooner"], given).rowcount > 0:
            moved.add(key)
            soonest[key[0]] = min(due_at, soonest.get(key[0], due_at))
    if soonest:
        connection.execute(_SQL["hosts_sooner"], columns("hosts due_ats", soonest.items()))
    return moved


def _locked(connection: Connection, keys: Iterable[NamedKey]) -> set[int | None]:
    """Their hosts, except those that another crawler has locked."""
    hosts = {"hosts": sorted({host_id for host_id, _ in keys if host_id is not None})}
    return {host_id for host_id, _ in connection.execute(_SQL["hosts_still"], hosts)}


def plans(connection: Connection, now: SharedMoment) -> dict[tuple[str, int], int]:
    """Days by our own clock."""
    rows = connection.execute(_SQL["plans"], {"ahead": now.ahead, "day": DAY})
    return {(name, day): many for name, day, many in rows}


def _pasts_at(connection: Connection, keys: Iterable[NamedKey]) -> dict[Key, Past]:
    known = [key for key in keys if key[0] is not None]
    rows = connection.execute(_SQL["pasts_of"], columns("host_ids ids", known)).fetchall() if known else []
    return {(host_id, number): past for host_id, number, kept in rows if (past := decoded(kept)) is not None}


def _note(connection: Connection, pasts: Mapping[Key, Past]) -> None:
    if pasts:
        rows = [(*key, encoded(past)) for key, past in pasts.items()]
        connection.execute(_SQL["pasts_noted"], columns("host_ids ids pasts", rows))


def _keys(connection: Connection, urls: Iterable[Url], rules: FrontierRules) -> list[NamedKey]:
    named = [(url.host.name, rules.keys.id(url.text)) for url in urls]
    host_ids = {name: find_host_id(connection, name) for name, _ in dict(named).items()}
    return [(host_ids[name], number) for name, number in named]
