"""What the frontier knows, for reports and commands. Functions on any connection, a reader's too."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.codes import REASONS
from gossamer.frontier.lanes import HELD, LANES_OF, text_of
from gossamer.frontier.priority import links_in
from gossamer.frontier.reports import Awaited, HostState, Ledger, Preview, Template
from gossamer.frontier.sqlite.known import known
from gossamer.frontier.sqlite.robots import Rulebook
from gossamer.store.statements import load
from gossamer.values.robots import RobotsState
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.sqlite", "reports.sql")


def queued(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Every address that waits in the queue, and its depth; those in quarantine and in the journal are not among them.

    Ten million take about half a minute: the caller may stop at any time.
    """
    for lane, name, text, depth in connection.execute(_SQL["queued"]):
        yield text_of(lane, name, text), depth


def preview(connection: sqlite3.Connection, matches: Callable[[str, int], bool], examples: int = 10) -> Preview:
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


def held(connection: sqlite3.Connection, host: str | None = None) -> Iterator[str]:
    """Every address in quarantine."""
    for lane, name, text in connection.execute(_SQL["held"], (host,)):
        yield text_of(lane - HELD, name, text)


def ledger(connection: sqlite3.Connection) -> Iterator[Ledger]:
    """Of every host that was visited, by name."""
    return map(_ledger_of, connection.execute(_SQL["ledger"]))


def host_ledger(connection: sqlite3.Connection, name: str) -> Ledger | None:
    """None: it was never visited."""
    row = connection.execute(_SQL["host_ledger"], (name,)).fetchone()
    return None if row is None else _ledger_of(row)


def _ledger_of(row: tuple[str, int, int, int | None, int, int, int]) -> Ledger:
    host, visits, gap, least_gap, rested, rests, broken = row
    least_s = None if least_gap is None else least_gap / SECOND
    return Ledger(host, visits, gap / SECOND, least_s, rested / rests / SECOND if rests > 0 else None, broken)


def hosts(connection: sqlite3.Connection) -> Iterator[HostState]:
    """By name."""
    return map(_state_of, connection.execute(_SQL["hosts"]))


def host_state(connection: sqlite3.Connection, name: str) -> HostState | None:
    row = connection.execute(_SQL["host"], (name,)).fetchone()
    return None if row is None else _state_of(row)


def templates(connection: sqlite3.Connection, host: str | None = None) -> Iterator[Template]:
    """What was learned of every host's patterns, or of one host's."""
    for row in connection.execute(_SQL["templates"], (host,)):
        yield Template(*row)


def waits_before(connection: sqlite3.Connection, url: Url, identity: Callable[[str], str] | None = None) -> int | None:
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


def every_end(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Address and reason code of its last visit; those never visited are left out."""
    for lane, name, text, reason in connection.execute(_SQL["every_end"]):
        yield text_of(lane, name, text), REASONS[reason].value


# What a crawl waits for that has nothing to do: the next visit, until when, and why not before.


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
