"""Requeueing and rescheduling in the shared frontier: visited URLs wait again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.known import key_of
from gossamer.frontier.postgres.hosts import SharedRulebook, find_host_id
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering
from gossamer.frontier.priority import priority_of
from gossamer.frontier.requeue import ASKS_ROBOTS, AT_ONCE, FIRST, HAD, REPAIRABLE, begun, free_at, rescheduled
from gossamer.frontier.rows import lane_of
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.postgres.state import viewed
from gossamer.store.statements import load
from gossamer.values.history import Past, Reschedule, decoded, encoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import Selection

_SQL = load("gossamer.frontier.postgres")
Key = tuple[int, int]
"""Host id and id of a URL."""
START: Key = (FIRST, FIRST)
NamedKey = tuple[int | None, int]
"""The same for a URL whose host may not be known."""
QueueRow = tuple[int, int, str, int, str]
"""Host id, id, URL, depth and how of a URL that waits again."""


def revive(connection: Connection, worker_id: int, seeds: Iterable[Url], rules: FrontierRules) -> int:
    """Queue seeds again that failed for a repairable reason, and pages given up because of their robots.txt.

    Several crawlers may start together: each URL is revived by the first. Returns how many wait again.
    """
    rows = _revived(connection, worker_id, seeds, REPAIRABLE - {Reason.ROBOTS_UNREACHABLE}, rules)
    rows += connection.execute(_SQL["given_up_revived"]).fetchall()
    start_over(connection, rows)
    _queue_again(connection, worker_id, rows, rules)
    return len(rows)


def _revived(
    connection: Connection, worker_id: int, urls: Iterable[Url], reasons: Iterable[Reason], rules: FrontierRules
) -> list[QueueRow]:
    """Those of these URLs that waited for nothing and ended for one of these reasons, marked as waiting."""
    wanted = dict.fromkeys(urls)
    host_ids, new_hosts = Entering(connection, rules).host_ids({url.host.name for url in wanted})
    tally(connection, worker_id, {tallies.HOSTS: new_hosts})
    keys = sorted({(host_ids[url.host.name], rules.keys.id(url.text)) for url in wanted})
    if not keys:
        return []
    given = {**columns("host_ids ids", keys), "reasons": [reason.value for reason in reasons]}
    return connection.execute(_SQL["revived"], given).fetchall()


def _queue_again(
    connection: Connection,
    worker_id: int,
    rows: Sequence[QueueRow],
    rules: FrontierRules,
    later_ats: Sequence[Instant] = (),
) -> None:
    """Queue URLs that are marked as waiting, before others of their priority; each until then, if that is given (0: due
    now)."""
    if not rows:
        return
    (number,) = connection.execute(_SQL["offer_number"]).fetchone() or (0,)
    given = {
        "host_ids": [row[0] for row in rows],
        "lanes": [lane_of(row[2]) for row in rows],
        "priorities": [priority_of(How(row[4]), row[3]) for row in rows],
        "sequences": [place - number * MOST_AT_ONCE for place in range(len(rows))],
        "ids": [row[1] for row in rows],
        "later_ats": list(later_ats) or [0] * len(rows),
    }
    connection.execute(_SQL["queued"], given)
    Entering(connection, rules).mail(sorted({row[0] for row in rows}))
    tally(connection, worker_id, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})


def recall(connection: Connection, worker_id: int, rules: FrontierRules, rulebook: SharedRulebook, now: Instant) -> int:
    """Queue every fetched page that waits for nothing, until its host's Recrawl-delay is over; returns how many."""
    given: dict[str, object] = {"reasons": [Reason.FETCHED.value, Reason.UNCHANGED.value]}
    rows = connection.execute(_SQL["recalled"], given).fetchall()
    if rows:
        keys = [(row[0], lane_of(row[2])) for row in rows]
        entries = rulebook.entries(connection, dict.fromkeys(keys))
        free = [free_at(row[5] or now, entries.get(key)) for row, key in zip(rows, keys, strict=True)]
        _queue_again(connection, worker_id, [row[:5] for row in rows], rules, [at if at > now else 0 for at in free])
        begin_pasts(connection, [(row[0], row[1], row[5] or now) for row in rows], [max(now, at) for at in free])
    return len(rows)


def begin_pasts(connection: Connection, rows: Sequence[tuple[int, int, Instant]], due_ats: Sequence[Instant]) -> None:
    """Store the first record of pages: their host id, id, and when they were fetched."""
    if rows:
        pasts = [(*row[:2], encoded(begun(row[2], due_at))) for row, due_at in zip(rows, due_ats, strict=True)]
        connection.execute(_SQL["pasts_begun"], columns("host_ids ids pasts", pasts))


def read_again(connection: Connection, worker_id: int, sitemaps: Iterable[Url], rules: FrontierRules) -> None:
    """Queue those of these sitemaps again that were read before."""
    rows = _revived(connection, worker_id, sitemaps, [Reason.FETCHED], rules)
    _queue_again(connection, worker_id, rows, rules)


def start_over(connection: Connection, rows: Iterable[QueueRow]) -> None:
    """Forget the troubles of their hosts, and their robots.txt files."""
    lanes = sorted({(row[0], lane_of(row[2])) for row in rows})
    if lanes:
        connection.execute(_SQL["robots_forgotten"], columns("hosts lanes", lanes))
        connection.execute(_SQL["troubles_forgotten"], {"hosts": sorted({host_id for host_id, _ in lanes})})


class SharedEndRow(NamedTuple):
    """A row of `ended_after`."""

    host_id: int
    id: int
    url: str
    is_queued: bool
    due_at: Instant | None


def requeue_some(
    connection: Connection, worker_id: int, selection: Selection, after: Key, rules: FrontierRules, now: SharedMoment
) -> tuple[int, Key | None]:
    """As many of the URLs after a key as one transaction takes; returns how many are newly queued or due earlier, and
    where to continue."""
    rows = _rows(connection, selection, after, rules)
    amount = _wait_again(connection, worker_id, [row[:2] for row in rows if not row.is_queued], rules, now)
    later = [row for row in rows if row.is_queued and row.due_at is not None and row.due_at > now.at]
    if later:
        amount += len(move_earlier(connection, {(row.host_id, row.id): (lane_of(row.url), now.at) for row in later}))
    is_complete = bool(selection.urls) or len(rows) < AT_ONCE
    return amount, None if is_complete else rows[-1][:2]


def refetch(
    connection: Connection, worker_id: int, urls: Sequence[Url], rules: FrontierRules, now: SharedMoment
) -> int:
    """Make pages due whose stored content is damaged; the next response is stored whole. Returns how many were not."""
    pasts = _pasts_at(connection, _keys(connection, urls, rules))
    _note(connection, {key: past.without_body() for key, past in pasts.items()})
    return requeue_some(connection, worker_id, Selection(urls=tuple(urls)), START, rules, now)[0]


def _rows(connection: Connection, selection: Selection, after: Key, rules: FrontierRules) -> list[SharedEndRow]:
    reasons = [reason.value for reason in selection.reasons] or None
    if selection.urls:
        with viewed(connection) as state:
            keys = [key for url in selection.urls if (key := key_of(state, url, rules.keys))]
        named = {"host_ids": [key[0] for key in keys], "ids": [key[1] for key in keys], "reasons": reasons}
        return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_named"], named)]
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host and host_id is None:
        return []
    given = {
        "after_host": after[0],
        "after_id": after[1],
        "reasons": reasons,
        "hows": [how.value for how in selection.hows] or None,
        "host_id": host_id,
        "most": AT_ONCE,
    }
    return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_after"], given)]


def _wait_again(
    connection: Connection, worker_id: int, keys: Sequence[Key], rules: FrontierRules, now: SharedMoment
) -> int:
    """Those of them that no other crawler has queued meanwhile."""
    done = connection.execute(_SQL["requeued"], columns("host_ids ids", keys)).fetchall() if keys else []
    _queue_again(connection, worker_id, [row[:5] for row in done], rules)
    had = [(row[0], row[1], row[6] or now.local_at) for row in done if Reason(row[5]) in HAD]
    begin_pasts(connection, had, [now.local_at] * len(had))
    start_over(connection, [row[:5] for row in done if Reason(row[5]) in ASKS_ROBOTS])
    return len(done)


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
