"""Quarantine in a shared crawl: addresses of an endless series wait in lanes of their own, counted and given back."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gossamer.base.clock import Instant
from gossamer.frontier.lanes import HELD
from gossamer.frontier.postgres.hosts import find_host_id, locked
from gossamer.frontier.postgres.sieve import tally
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.url import id_of

_SQL = load("gossamer.frontier.postgres")
OPEN_LANES, HELD_LANES = [0, 1], [HELD, HELD + 1]
MOST_MOVED = 10_000
"""Waiting addresses that are moved when their template is quarantined."""
MOST_AT_TURN = 1_000
"""Those that are looked through when one of them is found at its turn."""


def quarantine(
    connection: Connection, worker_id: int, name: str, template: str, template_of: Callable[[str], str], now: Instant
) -> int:
    """Addresses of the template wait apart from now on; says how many that waited were held back at once."""
    host_id = find_host_id(connection, name)
    if host_id is None:
        return 0
    visiting = locked(connection, host_id)[2]
    key = {"host_id": host_id, "id": id_of(template)}
    connection.execute(_SQL["template_seen"], {**key, "template": template, "fetched": 0, "fruitful": 0})
    held, moves = hold_back(connection, host_id, visiting, template, template_of, now)
    tally(connection, worker_id, moves)
    return held


def hold_back(
    connection: Connection,
    host_id: int,
    visiting: int | None,
    template: str,
    template_of: Callable[[str], str],
    now: Instant,
) -> tuple[int, dict[str, int]]:
    """Those that wait longest, within bounds; the others are when their turn comes. Says how many, and how counters
    move. REQUIRES: the host is locked, the template known."""
    given = {"host_id": host_id, "lanes": OPEN_LANES, "visiting": visiting, "most": MOST_MOVED}
    ids = [number for number, url in connection.execute(_SQL["waiting_at"], given) if template_of(url) == template]
    changed = {"host_id": host_id, "lanes": OPEN_LANES, "ids": ids, "by": HELD}
    connection.execute(_SQL["lanes_changed"], changed)
    _judged(connection, host_id, template, now, len(ids))
    return len(ids), {tallies.QUEUED: -len(ids), tallies.QUARANTINED: len(ids)}


def release(connection: Connection, worker_id: int, name: str, template: str, template_of: Callable[[str], str]) -> int:
    """Addresses of the template wait with the others again; says how many."""
    host_id = find_host_id(connection, name)
    if host_id is None:
        return 0
    is_leased, retired_at, _ = locked(connection, host_id)
    given = {"host_id": host_id, "lanes": HELD_LANES, "visiting": None, "most": None}
    ids = [number for number, url in connection.execute(_SQL["waiting_at"], given) if template_of(url) == template]
    connection.execute(_SQL["lanes_changed"], {"host_id": host_id, "lanes": HELD_LANES, "ids": ids, "by": -HELD})
    _judged(connection, host_id, template, None, -len(ids))
    if not is_leased and retired_at is None:
        connection.execute(_SQL["host_woken"], {"host_id": host_id})
    tally(connection, worker_id, {tallies.QUEUED: len(ids), tallies.QUARANTINED: -len(ids)})
    return len(ids)


def _judged(connection: Connection, host_id: int, template: str, at: Instant | None, held: int) -> None:
    key = {"host_id": host_id, "id": id_of(template)}
    connection.execute(_SQL["template_judged"], {**key, "at": at, "held": held})
    connection.execute(_SQL["host_holds"], {"host_id": host_id, "more": held})


def set_aside(
    connection: Connection, worker_id: int, due: Iterable[tuple[int, int, str]], template_of: Callable[[str], str]
) -> set[int]:
    """Of addresses whose turn has come (host id, lane, text), those that belong in quarantine go there, and what waits
    behind them likewise. Says at which hosts. REQUIRES: the hosts are locked."""
    rows = list(due)
    hosts = {"hosts": list({host_id for host_id, _, _ in rows})}
    quarantined = set(connection.execute(_SQL["quarantined"], hosts).fetchall()) if rows else set()
    if not quarantined:
        return set()
    changed = set()
    for host_id, lane, url in rows:
        if (host_id, id_of(template_of(url))) in quarantined:
            key = {"host_id": host_id, "lane": lane, "most": MOST_AT_TURN}
            waiting = connection.execute(_SQL["first_waiting"], key).fetchall()
            found = [(number, id_of(template_of(text))) for number, text in waiting]
            _hold(connection, worker_id, (host_id, lane), [one for one in found if (host_id, one[1]) in quarantined])
            changed.add(host_id)
    return changed


def _hold(connection: Connection, worker_id: int, lane: tuple[int, int], found: Sequence[tuple[int, int]]) -> None:
    """`found`: ids of addresses and of their templates."""
    host_id = lane[0]
    ids = [number for number, _ in found]
    connection.execute(_SQL["lanes_changed"], {"host_id": host_id, "lanes": [lane[1]], "ids": ids, "by": HELD})
    many = sorted(Counter(template for _, template in found).items())
    given = {
        "host_ids": [host_id] * len(many),
        "ids": [template for template, _ in many],
        "amounts": [amount for _, amount in many],
    }
    connection.execute(_SQL["template_held"], given)
    connection.execute(_SQL["host_holds"], {"host_id": host_id, "more": len(ids)})
    tally(connection, worker_id, {tallies.QUEUED: -len(ids), tallies.QUARANTINED: len(ids)})
