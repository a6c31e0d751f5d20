"""Limits of network addresses in a shared crawl: many hosts may live on one machine, and many crawlers visit them.

How many visits to an address are out is counted where the leases are; its row only says when the next may start, and
is the lock under which a crawler decides. An address another crawler is deciding about is left for the next time.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gossamer.base.clock import SECOND, Instant
from gossamer.config.slices import Politeness
from gossamer.frontier.address_lookup import MOST_RESOLVED, Resolving
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load

_SQL = load("gossamer.frontier.postgres")
TURN = 32
"""Visits to a host before its name is resolved again."""
GLANCE = SECOND // 20
"""How soon an address is looked at again that has all the visits it may have."""


class AddressLimits(NamedTuple):
    """An address as it is: visits out, and when the next may start. None: somebody else is deciding about it."""

    out: int
    start_at: Instant | None


class Admitted(NamedTuple):
    """Of hosts that are ready: those that may be touched, those that wait until an instant."""

    now: list[int]
    later: list[tuple[int, Instant]]


def admit(
    hosts: Sequence[tuple[int, str | None]], limits: Mapping[str, AddressLimits], now: Instant, politeness: Politeness
) -> Admitted:
    """Hosts in the order of their turn, each with its address. One whose address is not known has one of its own."""
    apart = math.ceil(politeness.apart_s * SECOND)
    left = dict(limits)
    found = Admitted([], [])
    for host_id, address in hosts:
        if address is None:
            found.now.append(host_id)
            continue
        out, start_at = left[address]
        if start_at is None or out >= politeness.per_address:
            found.later.append((host_id, now + GLANCE))
        elif start_at > now:
            found.later.append((host_id, start_at))
        else:
            found.now.append(host_id)
            left[address] = AddressLimits(out + 1, now + apart)
    return found


class Networks:
    """Where hosts live, as far as this crawler knows, and the limits of those places.

    Touched on the database's thread; names are asked for on the event loop, by whoever `wanted` is given to.
    """

    def __init__(self, resolving: Resolving, politeness: Politeness) -> None:
        self._resolving = resolving
        self._politeness = politeness
        self._known: dict[str, tuple[str | None, int]] = {}
        """By host name: its address, and for how many visits that is taken to hold."""
        self.wanted: list[str] = []

    def pass_over(self, names: Mapping[int, str]) -> set[int]:
        """Hosts whose names are not resolved yet: they are asked for, and come next time."""
        self.wanted = [name for name in names.values() if not self._is_known(name)]
        unknown = set(self.wanted)
        return {host_id for host_id, name in names.items() if name in unknown}

    def admit(self, connection: Connection, names: Mapping[int, str], now: Instant) -> Admitted:
        """REQUIRES: none of the hosts was passed over."""
        hosts = [(host_id, self._known[name][0]) for host_id, name in names.items()]
        addresses = sorted({address for _, address in hosts if address is not None})
        limits = self._limits(connection, addresses) if addresses else {}
        return admit(hosts, limits, now, self._politeness)

    def started(self, connection: Connection, names: Mapping[int, str], now: Instant) -> list[str | None]:
        """Visits to these hosts begin: the addresses they go to. The next there may start a little later."""
        found = [self._known[name][0] for name in names.values()]
        addresses = sorted({address for address in found if address is not None})
        start_at = now + math.ceil(self._politeness.apart_s * SECOND)
        if addresses:
            connection.execute(_SQL["network_started"], {"addresses": addresses, "start_at": start_at})
        for name in names.values():
            address, turns = self._known.pop(name)
            if turns > 1:
                self._known[name] = (address, turns - 1)
        return found

    def _is_known(self, name: str) -> bool:
        if name not in self._known and self._resolving.is_known(name):
            self._known[name] = (self._resolving.take(name), TURN)
            while len(self._known) > MOST_RESOLVED:
                del self._known[next(iter(self._known))]
        return name in self._known

    def _limits(self, connection: Connection, addresses: list[str]) -> dict[str, AddressLimits]:
        given = {"addresses": addresses}
        connection.execute(_SQL["networks_met"], given)
        starts: dict[str, Instant] = dict(connection.execute(_SQL["networks_locked"], given).fetchall())
        out: dict[str, int] = dict(connection.execute(_SQL["networks_out"], given).fetchall())
        return {address: AddressLimits(out.get(address, 0), starts.get(address)) for address in addresses}
