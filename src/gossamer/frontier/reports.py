"""What the frontier knows, for reports, lists and exports. Functions on a state, a reader's too."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from heapq import merge
from typing import Literal, NamedTuple, cast

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import Awaited, HostState, Ledger, Preview, Template
from gossamer.frontier.known import find_host_id, known, robots_entry
from gossamer.frontier.priority import LAST, links_in
from gossamer.frontier.rows import HELD, HOWS, LANES_OF, REASON_CODES, REASONS, text_of
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots, RobotsState
from gossamer.values.url import Url

_SQL = load("gossamer.frontier", "reports.sql")


def queued(connection: State) -> Iterator[tuple[str, int]]:
    """Every address that waits in the queue, and its depth; those in quarantine and in the journal are not among them.

    Ten million take about half a minute: the caller may stop at any time.
    """
    for lane, name, text, depth in connection.execute(_SQL["queued"]):
        yield text_of(lane, name, text), depth


def preview(connection: State, matches: Callable[[str, int], bool], examples: int = 10) -> Preview:
    """How many of the waiting addresses `matches` says yes to, and the first of them."""
    seen, matched = 0, 0
    first: list[str] = []
    for text, depth in queued(connection):
        seen += 1
        if matches(text, depth):
            matched += 1
            if len(first) < examples:
                first.append(text)
    return Preview(seen, matched, tuple(first))


def held(connection: State, host: str | None = None) -> Iterator[str]:
    """Every address in quarantine."""
    for lane, name, text in connection.execute(_SQL["held"], (host,)):
        yield text_of(lane - HELD, name, text)


def ledger(connection: State) -> Iterator[Ledger]:
    """Of every host that was visited, by name."""
    return map(_ledger_of, connection.execute(_SQL["ledger"]))


def host_ledger(connection: State, name: str) -> Ledger | None:
    """None: it was never visited."""
    row = connection.execute(_SQL["host_ledger"], (name,)).fetchone()
    return None if row is None else _ledger_of(row)


def _ledger_of(row: tuple[str, int, int, int | None, int, int, int]) -> Ledger:
    host, visits, gap, least_gap, rested, rests, broken = row
    least_s = None if least_gap is None else least_gap / SECOND
    return Ledger(host, visits, gap / SECOND, least_s, rested / rests / SECOND if rests > 0 else None, broken)


def hosts(connection: State) -> Iterator[HostState]:
    """By name."""
    return map(_state_of, connection.execute(_SQL["hosts"]))


def host_state(connection: State, name: str) -> HostState | None:
    row = connection.execute(_SQL["host"], (name,)).fetchone()
    return None if row is None else _state_of(row)


def templates(connection: State, host: str | None = None) -> Iterator[Template]:
    """What was learned of every host's patterns, or of one host's."""
    for row in connection.execute(_SQL["templates"], (host,)):
        yield Template(*row)


def waits_before(connection: State, url: Url, identity: Callable[[str], str] | None = None) -> int | None:
    """How many of its host's addresses go first; None: it does not wait, or not for its turn."""
    found = known(connection, url, identity=identity)
    if found is None or not found.is_queued or found.later_at is not None or found.priority is None:
        return None
    lane = int(found.url.scheme == "https")
    name = found.url.host.name
    (before,) = connection.execute(_SQL["before"], (name, lane, found.priority, found.url.target[1:])).fetchone()
    return int(before)


def _state_of(row: tuple[object, ...]) -> HostState:
    facts = dict(zip(HostState.__struct_fields__, row, strict=True))
    facts["gap_s"] = int(str(facts["gap_s"])) / SECOND
    facts["spent_s"] = int(str(facts["spent_s"])) / SECOND
    facts["links_in"] = links_in(int(str(facts["links_in"])))
    return msgspec.convert(facts, HostState, strict=False)


# How every address ended, for reports and checks; readable from any process.


def every_end(connection: State) -> Iterator[tuple[str, str]]:
    """Address and reason code of its last visit; those never visited are left out."""
    for lane, name, text, reason in connection.execute(_SQL["every_end"]):
        yield text_of(lane, name, text), REASONS[reason].value


# What a crawl waits for that has nothing to do: the next visit, until when, and why not before.


def awaited(connection: State, in_back: Iterable[int], now: Instant) -> Awaited | None:
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


# The visits that ended, the newest or the oldest first, from any position on: for lists that people page through.
# Of each address its last visit. Nothing is counted and nothing skipped, so a page costs the same anywhere in the
# list.

MOST_OF_HOST = 50_000
"""Ends of one host that are sorted in memory; a larger host is found among all."""
FARTHEST = (1 << 63) - 1
_Row = tuple[int, int, int, int, str, str, int, int, int, str | None, int, int | None]


class ListPosition(NamedTuple):
    """Where a list goes on."""

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
    """Those that ended for one of these reasons. The caller stops when it has enough, and closes it before the
    connection."""
    start = after or (NEWEST if is_newest_first else OLDEST)
    if (
        is_newest_first
    ):  # the index is entered by the instant; the rest of the position tells those of one instant apart
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
    is_beyond: Callable[[_Row], bool] = (
        (lambda row: _key(row) < start) if is_newest_first else (lambda row: _key(row) > start)
    )
    return sorted((row for row in rows if row[8] in wanted and is_beyond(row)), key=_key, reverse=is_newest_first)


def _key(row: _Row) -> tuple[int, int, int]:
    return row[:3]


def _ended(row: _Row) -> EndedUrl:
    at, host_id, number, lane, name, text, how, depth, reason, detail, failures, due_at = row
    position = ListPosition(at, host_id, number)
    return EndedUrl(
        position=position,
        url=text_of(lane, name, text),
        host=name,
        how=HOWS[how],
        depth=depth,
        reason=REASONS[reason],
        detail=detail or "",
        failures=failures,
        due_at=due_at,
    )


# How every address ended, with all that is stored of it, for exports: a few hundred at a time, each for itself, so
# that a slow reader holds no state of the database open.

AT_ONCE = 500
_LOWEST = -(1 << 63)


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
    """How its last visit ended; None: it was not visited yet."""


def every_known(connect: Callable[[], State]) -> Iterator[KnownUrl]:
    """All that were accepted: visited, waiting, or held back. `connect` as for `every_visit`."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_known"], (*last, AT_ONCE)).fetchall()
        for host_id, url_id, lane, name, text, how, depth, reason in rows:
            last = (host_id, url_id)
            yield KnownUrl(text_of(lane, name, text), HOWS[how], depth, None if reason is None else REASONS[reason])
        is_more = len(rows) == AT_ONCE


def every_visit(connect: Callable[[], State]) -> Iterator[LastVisit]:
    """`connect` makes a reader's connection, which is closed after each group."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_ends"], (*last, AT_ONCE)).fetchall()
        for host_id, url_id, lane, name, text, how, depth, hops, reason, detail, failures, settled_at, due_at in rows:
            last = (host_id, url_id)
            url = text_of(lane, name, text)
            why = REASONS[reason]
            yield LastVisit(
                url=url,
                how=HOWS[how],
                depth=depth,
                hops=hops,
                reason=why,
                detail=detail or "",
                failures=failures,
                settled_at=settled_at,
                due_at=due_at,
            )
        is_more = len(rows) == AT_ONCE


# Hosts in an order a person chose, some at a time, for lists that are paged through. One pass over one row a host.

_ROBOTS = msgspec.msgpack.Decoder(Robots)
LOWEST = -(1 << 62)
Order = Literal["queued", "visits", "troubles", "gap", "held", "next", "name"]
STATES = ("under-way", "ready", "waiting", "backing-off", "over-budget", "retired", "done")


class ListedHostRow(msgspec.Struct, frozen=True):
    """A host, with what a list of hosts shows of it."""

    rank: int
    """With its name, its place in this order."""
    state: str
    """One of STATES."""
    host: HostState
    least_gap_s: float | None
    broken: int
    robots: tuple[Robots, ...]
    """Of its http and its https pages, as far as they were asked for."""
    traps: tuple[Template, ...]
    """Patterns of addresses that are held back."""


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
    rows = connection.execute(_SQL["some"], wanted | _standing(now, is_crawling)).fetchall()
    found = []
    for rank, name, number, least_gap, broken, kind in rows:
        host = host_state(connection, name)
        if host is None:  # forgotten between the two questions
            continue
        entries = _entries(connection, number)
        held = [one for one in templates(connection, name) if one.quarantined_at is not None] if host.held else []
        least_gap_s = None if least_gap is None else least_gap / SECOND
        found.append(ListedHostRow(rank, kind, host, least_gap_s, broken, entries, tuple(held)))
    return found


def robots_of(connection: State, name: str) -> tuple[Robots, ...]:
    """What was last known of a host's robots.txt files."""
    number = find_host_id(connection, name)
    return () if number is None else _entries(connection, number)


def _entries(connection: State, number: int) -> tuple[Robots, ...]:
    return tuple([_ROBOTS.decode(entry) for (entry,) in connection.execute(_SQL["robots"], (number,))])


def states(connection: State, now: Instant, is_crawling: bool) -> dict[str, int]:
    """How many hosts are in each state that any is in."""
    found = dict(connection.execute(_SQL["states"], _standing(now, is_crawling)).fetchall())
    return {state: found[state] for state in STATES if state in found}


def _standing(now: Instant, is_crawling: bool) -> dict[str, int]:
    return {"now": now, "is_crawling": int(is_crawling), "last_band": LAST}


# Pages that come again, and what is remembered of each. Functions on any connection, a reader's too.


class Remembered(msgspec.Struct, frozen=True):
    url: str
    host: str
    due_at: Instant | None
    """When its next visit is due; None: it does not wait for one."""
    past: Past


def remembered(connection: State, host: str | None = None) -> Iterator[Remembered]:
    """In no order: there may be millions. Of one host, or of all."""
    for name, lane, text, due_at, kept in connection.execute(_SQL["remembered"], {"host": host}):
        if (past := decoded(kept)) is not None:
            yield Remembered(text_of(lane, name, text), name, due_at, past)


def every_remembered(connect: Callable[[], State]) -> Iterator[Remembered]:
    """All, some hundred at a time: `connect` makes a reader's connection, which is closed after each group."""
    last, is_more = (_LOWEST, _LOWEST), True
    while is_more:
        with closing(connect()) as connection:
            rows = connection.execute(_SQL["next_remembered"], (*last, AT_ONCE)).fetchall()
        for host_id, url_id, name, lane, text, due_at, kept in rows:
            last = (host_id, url_id)
            if (past := decoded(kept)) is not None:
                yield Remembered(text_of(lane, name, text), name, due_at, past)
        is_more = len(rows) == AT_ONCE
