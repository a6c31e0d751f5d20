"""All that a frontier knows, in rows that either store can write.

Hosts are named, since each store numbers them in its own way; ids of URLs are the same in both.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.statements import State, load
from gossamer.values.robots import Robots, RobotsState

T = TypeVar("T")
_SQL = load("gossamer.frontier", "transfer.sql")
_ROBOTS = msgspec.msgpack.Decoder(Robots)
AT_ONCE = 2_000
"""Rows in one transaction."""


class HostCopy(NamedTuple):
    """What is remembered of a host for politeness."""

    name: str
    band: int
    next_at: Instant
    gap: int
    troubles: int
    failing: int
    failing_since: Instant | None
    retired_at: Instant | None
    retired_why: str | None
    visits: int
    left_at: Instant | None
    least_gap: int | None
    rested: int
    broken: int
    spent: int
    linked_from: int


class UrlCopy(NamedTuple):
    """A known URL, as `state.db` stores it."""

    host: str
    id: int
    lane: int
    text: str
    how: int
    source_host: str | None
    """If it is another host."""
    source_id: int | None
    depth: int
    hops: int
    reason: int | None
    """None: it was never visited, nor given up; then the next four are None too."""
    failures: int | None
    settled_at: Instant | None
    due_at: Instant | None
    detail: str | None
    past: bytes | None
    changed_at: Instant | None
    """What sitemaps and feeds say, as the next."""
    every_s: int | None


class QueueCopy(NamedTuple):
    """A URL that waits."""

    host: str
    lane: int
    later_at: Instant
    priority: int
    sequence: int
    id: int
    settled_at: Instant | None
    """Of its last result."""


class FailureCopy(NamedTuple):
    """An earlier failure of a URL."""

    host: str
    id: int
    at: Instant
    reason: int
    detail: str | None


class TemplateCopy(NamedTuple):
    """What the URLs of a template have brought."""

    host: str
    id: int
    template: str
    fetched: int
    fruitful: int
    held: int
    quarantined_at: Instant | None


class RobotsCopy(NamedTuple):
    """The robots.txt of an origin."""

    host: str
    lane: int
    robots: Robots


def hosts_of(state: State) -> Iterator[HostCopy]:
    return map(HostCopy._make, state.execute(_SQL["hosts"]))


def urls_of(state: State) -> Iterator[UrlCopy]:
    return map(UrlCopy._make, state.execute(_SQL["urls"]))


def queue_of(state: State) -> Iterator[QueueCopy]:
    return map(QueueCopy._make, state.execute(_SQL["queue"]))


def failures_of(state: State) -> Iterator[FailureCopy]:
    return map(FailureCopy._make, state.execute(_SQL["failures"]))


def templates_of(state: State) -> Iterator[TemplateCopy]:
    return map(TemplateCopy._make, state.execute(_SQL["templates"]))


def robots_of(state: State) -> Iterator[RobotsCopy]:
    """Those that are known: one that has moved is requested again."""
    for host, lane, entry in state.execute(_SQL["robots"]):
        robots = _ROBOTS.decode(entry)
        if robots.state is not RobotsState.PENDING:
            yield RobotsCopy(host, lane, robots)


def some(rows: Iterator[T]) -> Iterator[list[T]]:
    """In groups for one transaction each."""
    while group := list(islice(rows, AT_ONCE)):
        yield group


class FrontierPart(NamedTuple):
    """One kind of rows."""

    name: str
    """Of the method of an intake that writes it."""
    says: str
    read: Callable[[State], Iterator[Any]]


PARTS = (
    FrontierPart("hosts", "hosts", hosts_of),
    FrontierPart("urls", "known URLs", urls_of),
    FrontierPart("queue", "waiting URLs", queue_of),
    FrontierPart("failures", "earlier failures", failures_of),
    FrontierPart("templates", "templates of URLs", templates_of),
    FrontierPart("robots", "robots.txt files", robots_of),
)
"""In the order in which they are written."""
