"""Addresses and hosts leave the shared frontier as if they had never been met: `forgetting` for PostgreSQL.

Inside the caller's transaction. REQUIRES: no crawler is at work, for it would hold some of this in memory.
"""

from collections import Counter
from collections.abc import Callable

from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.postgres.sieve import tally
from gossamer.frontier.rows import HELD
from gossamer.rules.retention import Forgotten
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.url import Host, Url, id_of

_SQL = load("gossamer.frontier.postgres", "forget.sql")
_OF_ADDRESSES = ("queue_dropped", "revisits_dropped", "said_dropped", "failures_dropped", "addresses_dropped")
_OF_HOST = ("robots_of_host", "errands_of_host", "templates_of_host", "mail_of_host")


def forget(connection: Connection, worker_id: int, block: Forgotten, template_of: Callable[[str], str]) -> int:
    """Whatever `block` names goes, queued or visited, with its row of the catalogue; says how many addresses were
    known of it. The records themselves are in the archives of the crawlers."""
    moves: Counter[str] = Counter()
    forgotten = 0
    for name in sorted(block.at):
        moves.update(_uncatalogued(connection, name, block))
        host_id = find_host_id(connection, name)
        if host_id is None:
            continue
        amount, moved = _forget_at(connection, host_id, block, template_of)
        forgotten += amount
        moves.update(moved)
        if name in block.hosts:
            moves.update(_forget_host(connection, host_id))
    tally(connection, worker_id, moves)
    return forgotten


def _forget_at(
    connection: Connection, host_id: int, block: Forgotten, template_of: Callable[[str], str]
) -> tuple[int, Counter[str]]:
    at = {"host_id": host_id}
    known = connection.execute(_SQL["addresses_of"], at).fetchall()
    gone = {number: (url, reason) for number, url, reason in known if block.has(Url(url))}
    places: dict[int, int] = dict(connection.execute(_SQL["places_of"], at).fetchall())
    held = [number for number in gone if places.get(number, 0) >= HELD]
    queued = sum(1 for number in gone if number in places) - len(held)
    moves = Counter({tallies.KNOWN: -len(gone), tallies.QUEUED: -queued, tallies.QUARANTINED: -len(held)})
    moves[tallies.SETTLED] -= len(gone) - queued - len(held)
    for _, reason in gone.values():
        if reason:
            moves[f"{tallies.REASON}{reason}"] -= 1
    for statement in _OF_ADDRESSES:
        connection.execute(_SQL[statement], {**at, "ids": list(gone)})
    for template, amount in Counter([template_of(gone[number][0]) for number in held]).items():
        connection.execute(_SQL["template_unheld"], {**at, "id": id_of(template), "amount": amount})
    connection.execute(_SQL["host_unheld"], {**at, "amount": len(held)})
    return len(gone), moves


def _uncatalogued(connection: Connection, name: str, block: Forgotten) -> dict[str, int]:
    at = {"host_id": Host(name).id}
    found = [url for (url,) in connection.execute(_SQL["captures_of"], at) if block.has(Url(url))]
    dropped = connection.execute(_SQL["captures_dropped"], {**at, "urls": found}).fetchall()
    withdrawn = connection.execute(_SQL["withdrawn_dropped"], {**at, "urls": found}).rowcount
    pages = len({url for url, is_page in dropped if is_page})
    return {tallies.CAPTURES: -len(dropped), tallies.PAGES: withdrawn - pages}


def _forget_host(connection: Connection, host_id: int) -> dict[str, int]:
    for statement in _OF_HOST:
        connection.execute(_SQL[statement], {"host_id": host_id})
    row = connection.execute(_SQL["host_dropped"], {"host_id": host_id}).fetchone()
    return {tallies.HOSTS: -1, tallies.RETIRED: -int(row is not None and row[0])}
