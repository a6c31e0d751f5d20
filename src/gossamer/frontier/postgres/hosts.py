"""How crawlers and hosts stand: who is at work, whose leases have run out, which hosts and templates are set aside."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gossamer.base.clock import SECOND, Instant
from gossamer.frontier.politeness import Politeness
from gossamer.frontier.postgres.sieve import tally
from gossamer.frontier.sqlite.hosts import next_id
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.url import Host

_SQL = load("gossamer.frontier.postgres")


class Stay(msgspec.Struct, frozen=True):
    """How a crawler takes part."""

    name: str
    """Whoever starts under the name of another takes its place: the older one loses what it held."""
    lease_s: float = 20.0
    """A crawler not heard of for so long is taken for dead, and its hosts go to others."""
    renew_s: float = 5.0
    """How often it makes itself heard, at least."""

    def __post_init__(self) -> None:
        if not self.name or not 0 < self.renew_s < self.lease_s:
            raise ValueError(f"a stay that cannot be: {self}")

    def until(self, now: Instant) -> Instant:
        return now + math.ceil(self.lease_s * SECOND)


class Life(NamedTuple):
    """A crawler's number among all, and which of its starts this is."""

    worker_id: int
    number: int


def join(connection: Connection, stay: Stay, now: Instant, politeness: Politeness) -> tuple[Life, bool]:
    """Our new life, and whether the one before had not ended in order: what it held waits a full gap."""
    connection.execute(_SQL["worker_entered"], {"name": stay.name})
    row = connection.execute(_SQL["worker_named"], {"name": stay.name}).fetchone()
    assert row is not None
    worker_id, alive_until = row
    row = connection.execute(_SQL["worker_joins"], {"worker": worker_id, "until": stay.until(now)}).fetchone()
    assert row is not None
    if alive_until is not None:
        bury(connection, worker_id, [worker_id], now, politeness)
    return Life(worker_id, row[0]), alive_until is not None


def renew(connection: Connection, life: Life, stay: Stay, now: Instant) -> bool:
    """False: we had been taken for dead, and hold nothing any longer."""
    given = {"worker": life.worker_id, "life": life.number, "until": stay.until(now)}
    return connection.execute(_SQL["worker_renews"], given).rowcount == 1


def is_at_work(connection: Connection, name: str) -> bool:
    row = connection.execute(_SQL["worker_named"], {"name": name}).fetchone()
    return row is not None and row[1] is not None


def leave(connection: Connection, life: Life, now: Instant, politeness: Politeness) -> None:
    """Visits still out return to their queues; their hosts may just have been touched, and wait a full gap."""
    given = {"worker": life.worker_id, "life": life.number}
    if connection.execute(_SQL["worker_leaves"], given).rowcount:
        return_leases(connection, life.worker_id, [], now, politeness)


def bury_the_dead(connection: Connection, worker_id: int, now: Instant, politeness: Politeness) -> int:
    """Take the hosts from crawlers whose stay has run out; says how many hosts were on lease."""
    dead = [number for (number,) in connection.execute(_SQL["workers_dead"], {"worker": worker_id, "now": now})]
    return bury(connection, worker_id, dead, now, politeness)


def bury(connection: Connection, worker_id: int, dead: Sequence[int], now: Instant, politeness: Politeness) -> int:
    """Hosts that they held, or touched within a gap, wait a full gap and go to whoever takes next."""
    if not dead:
        return 0
    rows = connection.execute(_SQL["hosts_of"], {"workers": list(dead), "now": now}).fetchall()
    return _rest(connection, worker_id, rows, now, politeness)


def return_leases(
    connection: Connection, worker_id: int, known: Sequence[int], now: Instant, politeness: Politeness
) -> int:
    """Give back what we hold by the database, but for the hosts named."""
    rows = connection.execute(_SQL["strays"], {"worker": worker_id, "known": list(known)}).fetchall()
    return _rest(connection, worker_id, rows, now, politeness)


def _rest(
    connection: Connection, worker_id: int, rows: Sequence[tuple[int, bool]], now: Instant, politeness: Politeness
) -> int:
    returned = sum(1 for _, is_leased in rows if is_leased)
    if rows:
        given = {
            "hosts": [host_id for host_id, _ in rows],
            "worker": worker_id,
            "now": now,
            "floor": math.ceil(politeness.delay_s * SECOND),
            "longest_s": politeness.longest_crawl_delay_s,
        }
        connection.execute(_SQL["hosts_rested"], given)
        tally(connection, worker_id, {tallies.LEASED: -returned})
    return returned


def find_host_id(connection: Connection, name: str) -> int | None:
    """None when the host is not known."""
    number = Host(name).id
    while row := connection.execute(_SQL["host_names"], {"ids": [number]}).fetchone():
        if row[1] == name:
            return number
        number = next_id(number)
    return None


def retire(connection: Connection, worker_id: int, name: str, why: str, now: Instant) -> bool:
    """False: the host is not known, or retired already."""
    host_id = find_host_id(connection, name)
    if host_id is None or locked(connection, host_id)[1] is not None:
        return False
    connection.execute(_SQL["host_retired"], {"host_id": host_id, "now": now, "why": why})
    tally(connection, worker_id, {tallies.RETIRED: 1})
    return True


def reinstate(connection: Connection, worker_id: int, name: str) -> bool:
    """False: the host is not known, or not retired."""
    host_id = find_host_id(connection, name)
    if host_id is None or locked(connection, host_id)[1] is None:
        return False
    connection.execute(_SQL["host_reinstated"], {"host_id": host_id})
    tally(connection, worker_id, {tallies.RETIRED: -1})
    return True


def locked(connection: Connection, host_id: int) -> tuple[bool, Instant | None, int | None]:
    """Whether the host is leased, when it was retired, which of its pages is out. REQUIRES: it is known."""
    row = connection.execute(_SQL["host_named"], {"host_id": host_id}).fetchone()
    assert row is not None
    return row[1], row[2], row[3]
