"""What the shared database holds of one address, for `why`."""

from collections.abc import Callable

import msgspec
from psycopg.rows import dict_row

from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.sqlite.hosts import next_id
from gossamer.frontier.sqlite.known import Known
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.url import Url, id_of

_SQL = load("gossamer.frontier.postgres")


def known(
    connection: Connection, url: Url, url_id: Callable[[str], int] = id_of, identity: Callable[[str], str] = str
) -> Known | None:
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


def _known_of(facts: dict[str, object]) -> Known:
    source = facts["source"]
    words = {"url": (facts["url"],), "source": (source,) if source else None, "detail": facts["detail"] or ""}
    return msgspec.convert({**facts, **words}, Known, strict=False)
