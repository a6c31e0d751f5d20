"""URLs that were visited or refused wait again: because an option has changed, a person asks for a retry, or wants them
fetched again. Politeness and the order within a host are not touched."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gossamer.base.clock import DAY, Clock, Instant
from gossamer.frontier.known import find_host_id, key_of
from gossamer.frontier.priority import priority_of
from gossamer.frontier.requeue import (
    ASKS_ROBOTS,
    AT_ONCE,
    FIRST,
    HAD,
    MENDABLE,
    MOST_DETAILS,
    MOST_EXAMPLES,
    begun,
    free_at,
    noted,
    priority_again,
)
from gossamer.frontier.rows import HOWS, REASON_CODES, REASONS, UrlKeys, parts_of, text_of
from gossamer.frontier.sqlite.hosts import Rulebook
from gossamer.frontier.sqlite.sieve import next_sequence
from gossamer.store import tallies
from gossamer.store.statements import State, StateWriter, load
from gossamer.values.history import Past, Reschedule, decoded, encoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import EndedGroup, Failure, Selection

# A new start for what failed: the person gives the same command again because the trouble is mended.


def revive(connection: State, seeds: Sequence[Url], keys: UrlKeys) -> int:
    """Queue seeds again that ended in a mendable way, and whatever was given up for want of a robots.txt.

    REQUIRES: no robots entry is held in memory yet. Says how many wait again.
    """
    rows: list[tuple[int, int, int, int]] = []
    for seed in seeds:
        key = _key(connection, seed, keys)
        rows += [row[:4] for row in connection.execute(_SQL["ended"], key) if REASONS[row[4]] in MENDABLE]
    if tallies.counts(connection).by_reason.get(Reason.ROBOTS_UNREACHABLE):
        given_up = REASON_CODES[Reason.ROBOTS_UNREACHABLE]
        rows += connection.execute(_SQL["given_up_as"], (given_up,)).fetchall()
    revived = dict.fromkeys(rows)
    forget_robots(connection, list(dict.fromkeys([(host_id, lane) for host_id, _, lane, _ in revived])))
    _queue_again(connection, list(revived))
    return len(revived)


def fetch_again(connection: State, urls: Sequence[Url], keys: UrlKeys, now: Instant) -> int:
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


def recall(connection: State, rulebook: Rulebook, now: Instant) -> int:
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


def begin_pasts(connection: State, rows: Sequence[tuple[int, int, Instant]], due_ats: Sequence[Instant]) -> None:
    """Of pages with their host id, id, and when they were fetched: the least that is remembered of each."""
    pasts = [
        (host_id, number, encoded(begun(settled_at, due_at)))
        for (host_id, number, settled_at), due_at in zip(rows, due_ats, strict=True)
    ]
    connection.executemany(_SQL["past_begun"], pasts)


def forget_robots(connection: State, lanes: Sequence[tuple[int, int]]) -> None:
    """The robots.txt of each host id and lane is asked for afresh."""
    connection.executemany(_SQL["robots_forgotten"], lanes)


def _queue_again(connection: State, rows: Sequence[tuple[int, int, int, int]]) -> None:
    queue_at(connection, [(*row[:3], priority_again(row[3])) for row in rows], [0] * len(rows))


def queue_at(connection: State, rows: Sequence[tuple[int, int, int, int]], later_ats: Sequence[Instant]) -> None:
    """Of each the host id, id, lane and priority, and until when it waits; 0: it is due."""
    first = next_sequence(connection, len(rows))
    for place, ((host_id, number, lane, priority), later_at) in enumerate(zip(rows, later_ats, strict=True)):
        connection.execute(_SQL["queued_again"], (host_id, lane, later_at, priority, first + place, number))
        connection.execute(_SQL["end_revived"], (later_at or None, host_id, number))
        connection.execute(_SQL["host_got_one"], (1 << lane, later_at or None, host_id))
    tallies.add(connection, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})


def read_again(connection: State, maps: Sequence[Url], keys: UrlKeys) -> None:
    """Queue those of them again that were read before."""
    for url in maps:
        rows = connection.execute(_SQL["ended"], _key(connection, url, keys)).fetchall()
        _queue_again(connection, [row[:4] for row in rows if REASONS[row[4]] is Reason.FETCHED])


def _key(connection: State, url: Url, keys: UrlKeys) -> tuple[int | None, int]:
    _, name, _ = parts_of(url.text)
    return find_host_id(connection, name), keys.id(url.text)


_SQL = load("gossamer.frontier.sqlite", "requeue.sql")

Lane = tuple[int, int]
"""Host id and lane."""


class EndRow(NamedTuple):
    """A row of `ended_all` and its sisters."""

    host_id: int
    id: int
    lane: int
    depth: int
    how: int
    reason: int
    due_at: Instant | None
    settled_at: Instant

    @property
    def priority(self) -> int:
        is_had = REASONS[self.reason] in HAD
        return priority_of(HOWS[self.how], self.depth) if is_had else priority_again(self.depth)


class EndScan(NamedTuple):
    """One way through the ends: a statement, what it is given first, and where it begins."""

    statement: str
    given: tuple[int, ...]
    start: tuple[int, ...]


class Requeued(NamedTuple):
    amount: int
    after: tuple[int, ...] | None
    """Where the next transaction goes on; None: nowhere."""
    lanes: tuple[Lane, ...]
    """Whose robots.txt is asked for afresh."""


async def requeue(
    database: StateWriter,
    selection: Selection,
    keys: UrlKeys,
    clock: Clock,
    moved: Callable[[Requeued], None],
) -> int:
    """Says how many wait now that did not, or come sooner. `moved` hears of every transaction once it is committed."""

    def one_by_one(connection: State) -> Requeued:
        found = _named(connection, selection.urls, keys)
        return _requeue(connection, _chosen(found, selection), clock.now(), None)

    if selection.urls:
        return (await database.run(one_by_one, moved)).amount
    amount = 0
    for part in await database.read(lambda connection: _parts(connection, selection)):
        after: tuple[int, ...] | None = part.start
        while after is not None:
            done = await database.run(_step(part, after, selection, clock), moved)
            amount, after = amount + done.amount, done.after
    return amount


def _step(part: EndScan, after: tuple[int, ...], selection: Selection, clock: Clock) -> Callable[[State], Requeued]:
    def step(connection: State) -> Requeued:
        rows = connection.execute(_SQL[part.statement], (*part.given, *after, AT_ONCE)).fetchall()
        found = [EndRow._make(row[: len(EndRow._fields)]) for row in rows]
        last = tuple(rows[-1][len(EndRow._fields) :]) if len(rows) == AT_ONCE else None
        return _requeue(connection, _chosen(found, selection), clock.now(), last)

    return step


def _parts(connection: State, selection: Selection) -> list[EndScan]:
    if selection.host:
        host_id = find_host_id(connection, selection.host)
        return [] if host_id is None else [EndScan("ended_at", (host_id,), (FIRST,))]
    if selection.reasons:
        codes = sorted(REASON_CODES[reason] for reason in selection.reasons)
        return [EndScan("ended_as", (code,), (FIRST, FIRST, FIRST)) for code in codes]
    return [EndScan("ended_all", (), (FIRST, FIRST))]


def _named(connection: State, urls: Sequence[Url], keys: UrlKeys) -> list[EndRow]:
    found = [key_of(connection, url, keys.url_id, keys.identity) for url in urls]
    rows = [connection.execute(_SQL["ended_one"], key).fetchone() for key in found if key is not None]
    return [EndRow._make(row) for row in rows if row is not None]


def _chosen(rows: Sequence[EndRow], selection: Selection) -> list[EndRow]:
    return [
        row
        for row in rows
        if (not selection.reasons or REASONS[row.reason] in selection.reasons)
        and (not selection.hows or HOWS[row.how] in selection.hows)
    ]


def _requeue(connection: State, rows: Sequence[EndRow], now: Instant, after: tuple[int, ...] | None) -> Requeued:
    over = [row for row in rows if row.due_at is None]
    queue_at(connection, [(row.host_id, row.id, row.lane, row.priority) for row in over], [0] * len(over))
    had = [row for row in rows if REASONS[row.reason] in HAD]
    begin_pasts(connection, [(row.host_id, row.id, row.settled_at) for row in had], [now] * len(had))
    later = [row for row in rows if row.due_at is not None and row.due_at > now]
    sooner = sum(moved_to(connection, row.host_id, row.id, now) for row in later)
    lanes = tuple({(row.host_id, row.lane): None for row in over if REASONS[row.reason] in ASKS_ROBOTS})
    forget_robots(connection, lanes)
    return Requeued(len(over) + sooner, after, lanes)


def ended(connection: State, selection: Selection, keys: UrlKeys) -> list[EndedGroup]:
    """How the URLs of a selection ended, the most frequent first; for any process."""
    if selection.urls:
        return _groups_of(connection, selection, keys)
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host:
        counts = {REASONS[code]: many for code, many in connection.execute(_SQL["counted_at"], (host_id,))}
    else:
        counts = {Reason(name): many for name, many in tallies.counts(connection).by_reason.items()}
    wanted = {reason: many for reason, many in counts.items() if not selection.reasons or reason in selection.reasons}
    ordered = sorted(wanted.items(), key=lambda one: (-one[1], one[0]))
    return [EndedGroup(reason, many, *_shown(connection, reason, host_id)) for reason, many in ordered]


def _shown(
    connection: State, reason: Reason, host_id: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """A few URLs and details. What was fetched has none, and is too much to look through."""
    where, given = ("as", (REASON_CODES[reason],)) if host_id is None else ("at", (host_id, REASON_CODES[reason]))
    urls = connection.execute(_SQL[f"examples_{where}"], (*given, MOST_EXAMPLES))
    details = connection.execute(_SQL[f"details_{where}"], (*given, MOST_DETAILS)) if reason not in HAD else ()
    return tuple([text_of(*row) for row in urls]), tuple([(detail, many) for detail, many in details])


def _groups_of(connection: State, selection: Selection, keys: UrlKeys) -> list[EndedGroup]:
    """REQUIRES: the selection names URLs."""
    found: dict[Reason, list[str]] = {}
    for url in selection.urls:
        for row in _chosen(_named(connection, [url], keys), selection):
            found.setdefault(REASONS[row.reason], []).append(url.text)
    many = Counter({reason: len(urls) for reason, urls in found.items()})
    return [EndedGroup(reason, amount, tuple(found[reason][:MOST_EXAMPLES])) for reason, amount in many.most_common()]


class Redirect(NamedTuple):
    """A redirect that was met: from where, how deep, how many before it, and where to."""

    url: Url
    depth: int
    hops: int
    how: How
    to: str


def redirects_after(
    connection: State, after: tuple[int, int, int]
) -> tuple[list[Redirect], tuple[int, int, int] | None]:
    """Redirects in the order they were met, some at a time, and where to go on."""
    rows = connection.execute(_SQL["redirects"], (REASON_CODES[Reason.MOVED], *after, AT_ONCE)).fetchall()
    found = [
        Redirect(Url(text_of(lane, name, rest)), depth, hops, HOWS[how], detail or "")
        for lane, name, rest, depth, hops, how, detail, *_ in rows
    ]
    return found, tuple(rows[-1][-3:]) if len(rows) == AT_ONCE else None


def failures_of(connection: State, url: Url, keys: UrlKeys) -> list[Failure]:
    """Failed visits before the last one, the newest first; for any process."""
    key = key_of(connection, url, keys.url_id, keys.identity)
    return list(_failures(connection, key)) if key is not None else []


def _failures(connection: State, key: tuple[int, int]) -> Iterator[Failure]:
    for at, reason, detail in connection.execute(_SQL["failures_of"], key):
        yield Failure(at, REASONS[reason], detail or "")


def pasts_of(connection: State, urls: Sequence[Url], keys: UrlKeys) -> list[Past | None]:
    rows = [connection.execute(_SQL["past"], key).fetchone() for key in _keys(connection, urls, keys)]
    return [decoded(row[0]) if row is not None else None for row in rows]


def hasten(connection: State, sooner: Sequence[Reschedule], keys: UrlKeys) -> int:
    """Says how many moved. The queue has no index by address; a row is found by the time it waits for."""
    moved = 0
    for one, (host_id, number) in zip(sooner, _keys(connection, [one.url for one in sooner], keys), strict=True):
        row = connection.execute(_SQL["past"], (host_id, number)).fetchone()
        past = decoded(row[0]) if row is not None else None
        if past is None or host_id is None:
            continue
        is_moved = one.due_at is not None and moved_to(connection, host_id, number, one.due_at)
        after = noted(past, one, is_moved)
        if after != past:
            connection.execute(_SQL["past_noted"], (encoded(after), host_id, number))
        moved += is_moved
    return moved


def plans(connection: State) -> dict[tuple[str, int], int]:
    rows = connection.execute(_SQL["plans"], {"day": DAY})
    return {(name, day): many for name, day, many in rows}


def moved_to(connection: State, host_id: int, number: int, due_at: Instant) -> bool:
    """Whether an address that waits for a later time waits for this one now."""
    row = connection.execute(_SQL["waits_until"], (host_id, number)).fetchone()
    if row is None or row[1] is None or row[1] <= due_at:
        return False
    lane, was_due_at = row
    due_at = max(1, due_at)
    if not connection.execute(_SQL["queued_sooner"], (due_at, host_id, lane, max(1, was_due_at), number)).rowcount:
        return False  # its time has come, it is held, or the clock was set since it was queued
    connection.execute(_SQL["end_sooner"], (due_at, host_id, number))
    connection.execute(_SQL["host_sooner"], (due_at, host_id))
    return True


def _keys(connection: State, urls: Sequence[Url], keys: UrlKeys) -> Iterator[tuple[int | None, int]]:
    host_ids: dict[str, int | None] = {}
    for url in urls:
        _, name, _ = parts_of(url.text)
        if name not in host_ids:
            host_ids[name] = find_host_id(connection, name)
        yield host_ids[name], keys.id(url.text)
