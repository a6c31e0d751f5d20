"""What can be read of a shared crawl beside its crawlers: ledger, hosts, templates, queue. Any connection may ask.

The values are those of `frontier.listing`, whose functions read the embedded database.
"""

from collections.abc import Callable, Iterator

import msgspec
from psycopg.rows import dict_row

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.api import HostState, KnownState, Ledger, Template
from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.priority import links_in
from gossamer.frontier.rows import next_id
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier.postgres")


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
        yield from cursor.execute(_SQL["everything_queued"])


def workers(connection: Connection) -> list[tuple[str, Instant]]:
    """Crawlers at work, and until when (by the database's clock) each will be believed to be."""
    return [(name, alive_until) for name, alive_until in connection.execute(_SQL["workers"])]


# What the shared database holds of one address, for `why`.


def known(
    connection: Connection, url: Url, url_id: Callable[[str], int] = id_of, identity: Callable[[str], str] = str
) -> KnownState | None:
    """None when the address was never let in. What is shown is the text that was met first."""
    found = _found(connection, url, url_id, identity)
    return None if found is None else _known_of(found[1])


def key_of(
    connection: Connection, url: Url, url_id: Callable[[str], int] = id_of, identity: Callable[[str], str] = str
) -> tuple[int, int] | None:
    """The host id and id of a known address."""
    found = _found(connection, url, url_id, identity)
    return None if found is None else found[0]


def _found(
    connection: Connection, url: Url, url_id: Callable[[str], int], identity: Callable[[str], str]
) -> tuple[tuple[int, int], dict[str, object]] | None:
    host_id = find_host_id(connection, url.host.name)
    wanted = identity(url.text)
    number = url_id(wanted)
    while host_id is not None:
        with connection.cursor(row_factory=dict_row) as cursor:
            facts = cursor.execute(_SQL["address_known"], {"host_id": host_id, "id": number}).fetchone()
        if facts is None:
            return None
        if identity(facts["url"]) == wanted:
            return (host_id, number), facts
        number = next_id(number)
    return None


def _known_of(facts: dict[str, object]) -> KnownState:
    source = facts["source"]
    words = {"url": (facts["url"],), "source": (source,) if source else None, "detail": facts["detail"] or ""}
    return msgspec.convert({**facts, **words}, KnownState, strict=False)
