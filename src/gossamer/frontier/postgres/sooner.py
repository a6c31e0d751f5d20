"""Pages that wait for a later time come sooner, in a shared crawl. See `hastening`."""

from collections.abc import Sequence

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.lanes import lane_of
from gossamer.frontier.postgres.hosts import find_host_id
from gossamer.frontier.postgres.robots import SharedMoment
from gossamer.frontier.postgres.sieve import OfferKeys
from gossamer.frontier.requeue import noted
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.due import Sooner
from gossamer.values.past import Past, decoded, encoded
from gossamer.values.url import Url

_SQL = load("gossamer.frontier.postgres", "sooner.sql")
Key = tuple[int | None, int]
"""Host id and id of an address."""


def pasts_of(connection: Connection, urls: Sequence[Url], naming: OfferKeys) -> list[Past | None]:
    keys = _keys(connection, urls, naming)
    found = _found(connection, keys)
    return [found.get(key) for key in keys]


def hasten(connection: Connection, sooner: Sequence[Sooner], naming: OfferKeys, now: SharedMoment) -> int:
    """A host that another crawler is busy with at this moment is passed over. Says how many moved."""
    keys = _keys(connection, [one.url for one in sooner], naming)
    hosts = sorted({host_id for host_id, _ in keys if host_id is not None})
    still = {host_id for (host_id,) in connection.execute(_SQL["hosts_still"], {"hosts": hosts})}
    kept = [(key, one) for key, one in zip(keys, sooner, strict=True) if key[0] in still]
    pasts = _found(connection, [key for key, _ in kept])
    moved, after, soonest = 0, dict[Key, bytes](), dict[int, Instant]()
    for key, one in kept:
        past = pasts.get(key)
        if past is None or key[0] is None:
            continue
        due_at = max(1, now.shared(one.due_at)) if one.due_at is not None else None
        is_moved = due_at is not None and _move(connection, key, lane_of(one.url.text), due_at)
        if is_moved and due_at is not None:
            moved += 1
            soonest[key[0]] = min(due_at, soonest.get(key[0], due_at))
        if (known := noted(past, one, is_moved)) != past:
            after[key] = encoded(known)
    if after:
        given = {"host_ids": [key[0] for key in after], "ids": [key[1] for key in after], "pasts": list(after.values())}
        connection.execute(_SQL["pasts_noted"], given)
    if soonest:
        connection.execute(_SQL["hosts_sooner"], {"hosts": list(soonest), "due_ats": list(soonest.values())})
    return moved


def come_sooner(connection: Connection, waiting: Sequence[tuple[Key, int, Instant]]) -> int:
    """Pages, with their lane and when they are to be due, wait for that time; says how many moved. A host that another
    crawler is busy with at this moment is passed over."""
    hosts = sorted({key[0] for key, _, _ in waiting if key[0] is not None})
    still = {host_id for (host_id,) in connection.execute(_SQL["hosts_still"], {"hosts": hosts})} if hosts else set()
    moved, soonest = 0, dict[int, Instant]()
    for key, lane, due_at in waiting:
        if key[0] in still and key[0] is not None and _move(connection, key, lane, max(1, due_at)):
            moved += 1
            soonest[key[0]] = min(due_at, soonest.get(key[0], due_at))
    if soonest:
        connection.execute(_SQL["hosts_sooner"], {"hosts": list(soonest), "due_ats": list(soonest.values())})
    return moved


def plans(connection: Connection, now: SharedMoment) -> dict[tuple[str, int], int]:
    """Days by our own clock."""
    rows = connection.execute(_SQL["plans"], {"ahead": now.ahead, "day": DAY})
    return {(name, day): many for name, day, many in rows}


def _move(connection: Connection, key: Key, lane: int, due_at: Instant) -> bool:
    given = {"host_id": key[0], "id": key[1], "lane": lane, "due_at": due_at}
    return connection.execute(_SQL["moved_sooner"], given).rowcount > 0


def _found(connection: Connection, keys: Sequence[Key]) -> dict[Key, Past]:
    known = [key for key in keys if key[0] is not None]
    given = {"host_ids": [host_id for host_id, _ in known], "ids": [number for _, number in known]}
    rows = connection.execute(_SQL["pasts_of"], given).fetchall() if known else []
    return {(host_id, number): past for host_id, number, kept in rows if (past := decoded(kept)) is not None}


def _keys(connection: Connection, urls: Sequence[Url], naming: OfferKeys) -> list[Key]:
    names = {url.host.name: None for url in urls}
    host_ids = {name: find_host_id(connection, name) for name in names}
    return [(host_ids[url.host.name], naming.url_id(naming.identity(url.text))) for url in urls]
