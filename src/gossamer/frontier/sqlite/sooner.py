"""Pages that wait for a later time come sooner: something next to them, or a list of theirs, says that they changed."""

import sqlite3
from collections.abc import Iterator, Sequence

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.lanes import parts_of
from gossamer.frontier.requeue import noted
from gossamer.frontier.sqlite.hosts import find_host_id
from gossamer.frontier.sqlite.sieve import IncomingKeys
from gossamer.store.statements import load
from gossamer.values.due import Sooner
from gossamer.values.past import Past, decoded, encoded
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.sqlite", "sooner.sql")


def pasts_of(connection: sqlite3.Connection, urls: Sequence[Url], keys: IncomingKeys) -> list[Past | None]:
    rows = [connection.execute(_SQL["past"], key).fetchone() for key in _keys(connection, urls, keys)]
    return [decoded(row[0]) if row is not None else None for row in rows]


def hasten(connection: sqlite3.Connection, sooner: Sequence[Sooner], keys: IncomingKeys) -> int:
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


def plans(connection: sqlite3.Connection) -> dict[tuple[str, int], int]:
    rows = connection.execute(_SQL["plans"], {"day": DAY})
    return {(name, day): many for name, day, many in rows}


def moved_to(connection: sqlite3.Connection, host_id: int, number: int, due_at: Instant) -> bool:
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


def _keys(connection: sqlite3.Connection, urls: Sequence[Url], keys: IncomingKeys) -> Iterator[tuple[int | None, int]]:
    host_ids: dict[str, int | None] = {}
    for url in urls:
        _, name, _ = parts_of(url.text)
        if name not in host_ids:
            host_ids[name] = find_host_id(connection, name)
        yield host_ids[name], keys.url_id(url.text if keys.identity is None else keys.identity(url.text))
