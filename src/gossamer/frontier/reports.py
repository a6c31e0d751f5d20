"""What the frontier knows, for reports, lists and exports.

Functions on either database, also on a reader's connection.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from heapq import merge
from typing import Any, Literal, NamedTuple, cast

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import Awaited, HostState, Ledger, Template
from gossamer.frontier.known import PLAIN, find_host_id, known, robots_entry
from gossamer.frontier.priority import LAST, links_in
from gossamer.frontier.rows import HELD, HOWS, LANES_OF, REASON_CODES, REASONS, UrlKeys, text_of
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url

_SQL = load("gossamer.frontier", "reports.sql")


def queued(connection: State) -> Iterator[tuple[str, int]]:
    """Every queued URL, and its depth; not those in quarantine or in the journal.

    Ten million take about half a minute: the caller may stop at any time.
    """
    for lane, name, text, depth in connection.execute(_SQL["queued"]):
        yield text_of(lane, name, text), depth


def held(connection: State, host: str | None = None) -> Iterator[str]:
    """Every URL in quarantine, of one host or of all."""
    for lane, name, text in connection.execute(_SQL["held"], (host,)):
        yield text_of(lane - HELD, name, text)


def ledger(connection: State) -> Iterator[Ledger]:
    """Of every visited host, by name."""
    return map(_ledger_of, connection.execute(_SQL["ledger"]))


def host_ledger(connection: State, name: str) -> Ledger | None:
    """None: it was never visited."""
    row = connection.execute(_SQL["host_ledger"], (name,)).fetchone()
    return None if row is None else _ledger_of(row)


def _ledger_of(row: tuple[str, int, int, int | None, int, int, int]) -> Ledger:
    host, visits, gap, least_gap, rested, rests, broken = row
    mean_s = rested / rests / SECOND if rests > 0 else None
    return Ledger(host, visits, gap / SECOND, _seconds(least_gap), mean_s, broken)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / SECOND


def hosts(connection: State) -> Iterator[HostState]:
    """By name."""
    return map(_state_of, connection.execute(_SQL["hosts"]))


def host_state(connection: State, name: str) -> HostState | None:
    row = connection.execute(_SQL["host"], (name,)).fetchone()
    return None if row is None else _state_of(row)


def templates(connection: State, host: str | None = None) -> Iterator[Template]:
    """Of one host or of all."""
    for row in connection.execute(_SQL["templates"], (host,)):
        yield Template(*row)


def waits_before(connection: State, url: Url, keys: UrlKeys = PLAIN) -> int | None:
    """How many URLs of its host go first; None: it does not wait, or waits for a later time."""
    found = known(connection, url, keys)
    if found is None or not found.is_queued or found.later_at is not None or found.priority is None:
        return None
    lane = int(found.url.scheme == "https")
    name = found.url.host.name
    (before,) = connection.execute(_SQL["before"], (name, lane, found.priority, found.url.target[1:])).fetchone()
    return int(before)


def _state_of(row: tuple[Any, ...]) -> HostState:
    facts = dict(zip(HostState.__struct_fields__, row, strict=True))
    facts |= {
        "gap_s": facts["gap_s"] / SECOND,
        "spent_s": facts["spent_s"] / SECOND,
        "links_in": links_in(facts["links_in"]),
    }
    return msgspec.convert(facts, HostState, strict=False)


def every_end(connection: State) -> Iterator[tuple[str, str]]:
    """The URL and reason code of every last visit."""
    for lane, name, text, reason in connection.execute(_SQL["every_end"]):
        yield text_of(lane, name, text), REASONS[reason].value


def awaited(connection: State, in_back: Iterable[int], now: Instant) -> Awaited | None:
    """The next visit, of the first hosts of the front queues and those with a back queue; None: no URL waits."""
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
        robots = robots_entry(connection, host_id, lane)
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


# Last visits, newest or oldest first, from any position on: for lists in pages. Nothing is counted and nothing skipped,
# so a page costs the same anywhere in the list.

MOST_OF_HOST = 50_000
"""Last visits of one host that are sorted in memory; those of a larger host are searched among all."""
FARTHEST = (1 << 63) - 1
_Row = tuple[int, int, int, int, str, str, int, int, int, str | None, int, int | None]


class ListPosition(NamedTuple):
    """Where a list continues."""

    at: Instant
    host_id: int
    id: int


NEWEST, OLDEST = ListPosition(FARTHEST, FARTHEST, FARTHEST), ListPosition(-FARTHEST, -FARTHEST, -FARTHEST)


class EndedUrl(msgspec.Struct, frozen=True):
    position: ListPosition
    url: str
    host: str
    how: How
    depth: int
    reason: Reason
    detail: str
    failures: int
    due_at: Instant | None

    @property
    def ended_at(self) -> Instant:
        return self.position.at


def visits(
    connection: State,
    reasons: Sequence[Reason] = tuple(Reason),
    host: str = "",
    since_at: Instant = 0,
    until_at: Instant = FARTHEST,
    after: ListPosition | None = None,
    is_newest_first: bool = True,
) -> Generator[EndedUrl, None, None]:
    """Those with one of these reasons. The caller closes it before the connection."""
    start = after or (NEWEST if is_newest_first else OLDEST)
    # the index is searched by instant; the rest of the position orders rows of the same instant
    if is_newest_first:
        until_at = min(until_at, start.at)
    else:
        since_at = max(since_at, start.at)
    bounds = {"since_at": since_at, "until_at": until_at, **start._asdict()}
    if host and (found := _of_host(connection, host, reasons, bounds, start, is_newest_first)) is not None:
        yield from map(_ended, found)
        return
    statement = _SQL["newest" if is_newest_first else "oldest"]
    streams = [connection.execute(statement, {"reason": REASON_CODES[reason], **bounds}) for reason in reasons]
    merged = cast(Generator[_Row, None, None], merge(*streams, key=_key, reverse=is_newest_first))
    with closing(merged) as rows:
        yield from (one for one in map(_ended, rows) if not host or one.host == host)


def _of_host(
    connection: State,
    host: str,
    reasons: Sequence[Reason],
    bounds: dict[str, int],
    start: ListPosition,
    is_newest_first: bool,
) -> list[_Row] | None:
    """None: there are too many."""
    rows = connection.execute(_SQL["of_host"], {"name": host, "most": MOST_OF_HOST + 1, **bounds}).fetchall()
    if len(rows) > MOST_OF_HOST:
        return None
    wanted = {REASON_CODES[reason] for reason in reasons}
    found = [row for row in rows if row[8] in wanted and (_key(row) < start if is_newest_first else _key(row) > start)]
    return sorted(found, key=_key, reverse=is_newest_first)


def _key(row: _Row) -> tuple[int, int, int]:
    return row[:3]


def _ended(row: _Row) -> EndedUrl:
    lane, name, text, how, depth, reason, detail, failures, due_at = row[3:]
    return EndedUrl(
        position=ListPosition(*row[:3]),
        url=text_of(lane, name, text),
        host=name,
        how=HOWS[how],
        depth=depth,
        reason=REASONS[reason],
        detail=detail or "",
        failures=failures,
        due_at=due_at,
    )


# Everything of one kind, for exports: a few hundred rows at a time, each from a connection of its own, so that a slow
# reader holds no state of the database open. `connect` makes a reader's connection, which is closed after each group.

AT_ONCE = 500
Connect = Callable[[], State]


def _every(connect: Connect, statement: str) -> Iterator[Any]:
    """The rows of a statement after a key, without that key: a host id and an id."""
    last, is_more = (-(1 << 63), -(1 << 63)), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL[statement], (*last, AT_ONCE)).fetchall()
        yield from (row[2:] for row in rows)
        if is_more := len(rows) == AT_ONCE:
            last = rows[-1][:2]


class LastVisit(msgspec.Struct, frozen=True):
    url: str
    how: How
    depth: int
    hops: int
    reason: Reason
    detail: str
    failures: int
    settled_at: Instant
    due_at: Instant | None


class KnownUrl(msgspec.Struct, frozen=True):
    url: str
    how: How
    depth: int
    reason: Reason | None
    """How its last visit ended; None: not visited yet."""


def every_known(connect: Connect) -> Iterator[KnownUrl]:
    """All accepted URLs: visited, queued or quarantined."""
    for lane, name, text, how, depth, reason in _every(connect, "next_known"):
        yield KnownUrl(text_of(lane, name, text), HOWS[how], depth, None if reason is None else REASONS[reason])


def every_visit(connect: Connect) -> Iterator[LastVisit]:
    for lane, name, text, how, depth, hops, reason, detail, *rest in _every(connect, "next_ends"):
        yield LastVisit(text_of(lane, name, text), HOWS[how], depth, hops, REASONS[reason], detail or "", *rest)


class Remembered(msgspec.Struct, frozen=True):
    """What is remembered about a page that is revisited."""

    url: str
    host: str
    due_at: Instant | None
    """When its next visit is due; None: it does not wait for one."""
    past: Past


def remembered(connection: State, host: str | None = None) -> Iterator[Remembered]:
    """In no order: there may be millions. Of one host, or of all."""
    return _remembered(connection.execute(_SQL["remembered"], {"host": host}))


def every_remembered(connect: Connect) -> Iterator[Remembered]:
    return _remembered(_every(connect, "next_remembered"))


def _remembered(rows: Iterable[Any]) -> Iterator[Remembered]:
    for name, lane, text, due_at, kept in rows:
        if (past := decoded(kept)) is not None:
            yield Remembered(text_of(lane, name, text), name, due_at, past)


# Hosts in an order that a user chose, for lists in pages. One pass over one row for each host.

_ROBOTS = msgspec.msgpack.Decoder(Robots)
LOWEST = -(1 << 62)
Order = Literal["queued", "visits", "troubles", "gap", "held", "next", "name"]
STATES = ("in-progress", "ready", "waiting", "backing-off", "over-budget", "retired", "done")


class ListedHostRow(msgspec.Struct, frozen=True):
    """A host, with what a list of hosts shows about it."""

    rank: int
    """Its position in this order, together with its name."""
    state: str
    """One of STATES."""
    host: HostState
    least_gap_s: float | None
    broken: int
    robots: tuple[Robots, ...]
    """Of its http and its https pages, if they were requested."""
    traps: tuple[Template, ...]
    """Quarantined templates."""


def listed_hosts(
    connection: State,
    now: Instant,
    is_crawling: bool,
    text: str = "",
    state: str = "",
    order: Order = "queued",
    after: tuple[int, str] = (LOWEST, ""),
    most: int = 50,
) -> list[ListedHostRow]:
    wanted = {"text": text, "state": state, "sort": order, "rank": after[0], "after": after[1], "most": most}
    rows = connection.execute(_SQL["some"], wanted | _state_values(now, is_crawling)).fetchall()
    found = []
    for rank, name, number, least_gap, broken, kind in rows:
        host = host_state(connection, name)
        if host is None:  # forgotten between the two queries
            continue
        entries = _entries(connection, number)
        held = [one for one in templates(connection, name) if one.quarantined_at is not None] if host.held else []
        found.append(ListedHostRow(rank, kind, host, _seconds(least_gap), broken, entries, tuple(held)))
    return found


def robots_of(connection: State, name: str) -> tuple[Robots, ...]:
    """The stored robots.txt entries of a host."""
    number = find_host_id(connection, name)
    return () if number is None else _entries(connection, number)


def _entries(connection: State, number: int) -> tuple[Robots, ...]:
    return tuple([_ROBOTS.decode(entry) for (entry,) in connection.execute(_SQL["robots"], (number,))])


def states(connection: State, now: Instant, is_crawling: bool) -> dict[str, int]:
    """How many hosts are in each state, without empty ones."""
    found = dict(connection.execute(_SQL["states"], _state_values(now, is_crawling)).fetchall())
    return {state: found[state] for state in STATES if state in found}


def _state_values(now: Instant, is_crawling: bool) -> dict[str, int]:
    return {"now": now, "is_crawling": int(is_crawling), "last_band": LAST}
