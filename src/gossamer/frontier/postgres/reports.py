"""What can be read of a shared crawl beside its crawlers: ledger, hosts, templates, queue. Any connection may ask.

The values are those of `frontier.listing`, whose functions read the embedded database.
"""

from collections.abc import Iterator

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.priority import links_in
from gossamer.frontier.sqlite.reports import HostState, Ledger, Template
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.postgres", "reports.sql")


def ledger(connection: Connection) -> Iterator[Ledger]:
    """Of every host that was visited, by name."""
    for host, visits, gap, least_gap, rested, rests, broken in connection.execute(_SQL["ledger"]):
        least_s = None if least_gap is None else least_gap / SECOND
        yield Ledger(host, visits, gap / SECOND, least_s, rested / rests / SECOND if rests > 0 else None, broken)


def hosts(connection: Connection, host: str | None = None) -> Iterator[HostState]:
    """By name; all of them, or one."""
    for row in connection.execute(_SQL["hosts"], {"host": host}):
        facts = dict(zip(HostState.__struct_fields__, row, strict=True))
        facts["gap_s"] /= SECOND
        facts["spent_s"] /= SECOND
        facts["links_in"] = links_in(facts["links_in"])
        yield msgspec.convert(facts, HostState)


def templates(connection: Connection, host: str | None = None) -> Iterator[Template]:
    """What was learned of every host's patterns, or of one host's."""
    for row in connection.execute(_SQL["templates"], {"host": host}):
        yield Template(*row)


def queued(connection: Connection) -> Iterator[tuple[str, int]]:
    """Every address that waits in the queue, and its depth."""
    with connection.transaction(), connection.cursor(name="queued") as cursor:  # read by parts: there may be millions
        yield from cursor.execute(_SQL["queued"])


def workers(connection: Connection) -> list[tuple[str, Instant]]:
    """Crawlers at work, and until when (by the database's clock) each will be believed to be."""
    return [(name, alive_until) for name, alive_until in connection.execute(_SQL["workers"])]
