"""The nodes of a cluster: members, orders, the services they see, and the log of events.

Instants are by the clock of the database, and are translated to ours when they are read.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.errors import GossamerError
from gossamer.monitor.control import Figures, Life
from gossamer.store.segments import VIEWS
from gossamer.store.statements import load

T = TypeVar("T")
SQL = load("gossamer.monitor", "nodes.sql")
SILENT_S = 10.0
"""A node without a heartbeat for so long is noticed to be silent. Its leases run out later by themselves."""
LATELY_S = 30.0
MOST_KEPT = 200
"""Events that wait in memory while the database is away."""
DRAINING, LEFT = "draining", "left"


class Transactions(Protocol):
    """Real one: `store.postgres.line.SharedLine`."""

    @property
    def name(self) -> str: ...

    @property
    def trouble(self) -> str: ...

    def run(self, work: Callable[[Any], T], *, is_lasting: bool = False) -> T: ...

    def close(self) -> None: ...


class NodeCard(msgspec.Struct, frozen=True):
    """A node as it introduces itself."""

    name: str
    host: str
    roles: tuple[str, ...]
    labels: tuple[str, ...]
    version: str


class NodeStatus(msgspec.Struct, frozen=True):
    """A node as the cluster sees it."""

    name: str
    host: str
    roles: tuple[str, ...]
    labels: tuple[str, ...]
    version: str
    joined_at: Instant
    at: Instant
    """Its last heartbeat."""
    age_s: float
    life: Life
    state: str
    """"", "draining" or "left"."""
    says: str
    """What it waits for, in words; may be empty."""
    leases: int = 0
    """Hosts that its crawler has leased."""
    work: int = 0
    """Segments that its indexer has leased."""
    figures: Figures = {}
    """Over its processes: pages_s, cpu, rss; of its machine: cpu_machine, memory_free, disk_free, ..."""
    processes: tuple[str, ...] = ()
    """Those that are alive."""


class ServiceHealth(msgspec.Struct, frozen=True):
    """One of the four services."""

    name: str
    """database, archive, words or facts"""
    is_there: bool
    says: str
    """What it is, or since when it is away and why."""
    latency_ms: float = 0.0
    away_since: Instant | None = None
    away_for: tuple[str, ...] = ()
    """The nodes that cannot reach it."""


class ServiceReport(msgspec.Struct, frozen=True):
    """What one node has found of a service."""

    name: str
    is_away: bool
    says: str
    latency_ms: float


class ViewQueue(msgspec.Struct, frozen=True):
    """What waits for one view of a cluster."""

    view: str
    records: int
    oldest_s: float | None
    """How long the oldest has waited."""
    set_aside: int
    """Segments that failed too often."""


class ClusterEvent(msgspec.Struct, frozen=True):
    """One line of the log."""

    id: int
    at: Instant
    node: str
    kind: str
    """Such as node.joined, node.silent, role.restarted, service.away, work.set-aside."""
    says: str


class ClusterState(msgspec.Struct, frozen=True):
    """Of all nodes together."""

    nodes: tuple[NodeStatus, ...] = ()
    services: tuple[ServiceHealth, ...] = ()
    backlog: tuple[ViewQueue, ...] = ()
    events: tuple[ClusterEvent, ...] = ()
    """The latest, oldest first."""
    version: str = ""
    """Of gossamer, on which the nodes have agreed."""


class Orders(msgspec.Struct, frozen=True):
    """What the cluster wants of a node."""

    is_member: bool = True
    """False: another node has its name, or it was removed."""
    is_draining: bool = False
    version: str = ""


@dataclass(slots=True)
class NodeRegistry:
    """Any thread. Every method may raise DatabaseLost."""

    line: Transactions
    clock: Clock

    def join(self, card: NodeCard) -> int:
        """Become the node of this name; a number that no other start of a node has."""

        def enter(connection: Any) -> int:
            given = {"silent_us": _micros(SILENT_S), **msgspec.structs.asdict(card)}
            given |= {"roles": list(card.roles), "labels": list(card.labels)}
            before = connection.execute(SQL["known"], given).fetchone()
            (life,) = connection.execute(SQL["join"], given).fetchone()
            says = f"{card.name} joined on {card.host}: {', '.join(card.roles)}"
            if before is not None and before[2] != LEFT and before[3]:
                says += f", in place of the node of that name on {before[1]}"
            put_event(connection, card.name, "node.joined", says)
            return int(life)

        return self.line.run(enter, is_lasting=True)

    def nodes(self) -> list[NodeStatus]:
        def read(connection: Any) -> list[NodeStatus]:
            working = dict(connection.execute(SQL["working"]).fetchall())
            return [self._status(row, working) for row in connection.execute(SQL["every_node"]).fetchall()]

        return self.line.run(read)

    def labels(self, name: str) -> frozenset[str]:
        """Of the node of this name; empty if there is none."""
        row = self.line.run(lambda connection: connection.execute(SQL["labels"], {"name": name}).fetchone())
        return frozenset() if row is None else frozenset(row[0])

    def _status(self, row: Sequence[Any], working: Mapping[str, int]) -> NodeStatus:
        now, name, host, roles, labels, version, joined_at, beat_at, state, says, is_draining, leases = row
        age_s, ahead = max(0.0, (now - beat_at) / SECOND), _ahead(now, self.clock)
        return NodeStatus(
            name=name,
            host=host,
            roles=tuple(roles),
            labels=tuple(labels),
            version=version,
            joined_at=joined_at - ahead,
            at=beat_at - ahead,
            age_s=round(age_s, 1),
            life="ended" if state == LEFT else "fresh" if age_s < 3 else "late" if age_s < SILENT_S else "silent",
            state=state or (DRAINING if is_draining else ""),
            says=says,
            leases=leases,
            work=sum(number for who, number in working.items() if who == name or str(who).startswith(name + " ")),
        )

    def drain(self, name: str) -> bool:
        """Ask a node to finish and leave; False: there is no such node."""

        def ask(connection: Any) -> bool:
            found = connection.execute(SQL["drain"], {"name": name}).fetchone()
            if found is not None and found[0] != LEFT:
                put_event(connection, name, "node.draining", f"{name} was asked to drain")
            return found is not None

        return self.line.run(ask, is_lasting=True)

    def drop(self, name: str) -> bool:
        """Forget a node that is gone; False: there is none of that name. Its crawler's leases are the frontier's."""

        def drop(connection: Any) -> bool:
            is_known = bool(connection.execute(SQL["drop"], {"name": name}).rowcount)
            for statement in ("drop_beats", "drop_vitals", "drop_services", "return_work"):
                connection.execute(SQL[statement], {"name": name})
            if is_known:
                put_event(connection, name, "node.removed", f"{name} was removed")
            return is_known

        return self.line.run(drop, is_lasting=True)

    def options(self) -> dict[str, str]:
        """The settings of the cluster, as JSON by name."""
        return self.line.run(lambda connection: dict(connection.execute(SQL["options"]).fetchall()))

    def version(self) -> str:
        """Of gossamer, on which the nodes have agreed; empty before the first one."""
        return self.line.run(_agreed)

    def agree(self, version: str) -> str:
        """The version on which the nodes have agreed; the first one decides."""

        def agree(connection: Any) -> str:
            connection.execute(SQL["agree"], {"version": version})
            return _agreed(connection)

        return self.line.run(agree, is_lasting=True)

    def others(self, version: str) -> list[str]:
        """The names of living nodes that have another version."""
        given = {"version": version, "silent_us": _micros(SILENT_S)}
        rows = self.line.run(lambda connection: connection.execute(SQL["others"], given).fetchall())
        return [name for (name,) in rows]

    def upgrade(self, version: str) -> None:
        def upgrade(connection: Any) -> None:
            connection.execute(SQL["upgrade"], {"version": version})
            put_event(connection, "", "cluster.upgraded", f"nodes must have gossamer {version} from now on")

        self.line.run(upgrade, is_lasting=True)

    def events(self, most: int, after: int = 0) -> list[ClusterEvent]:
        """The latest, oldest first; `after`: only those after the one with this id."""
        given = {"after": after, "most": most}
        rows = self.line.run(lambda connection: connection.execute(SQL["events"], given).fetchall())
        return [ClusterEvent(id, at - _ahead(now, self.clock), *rest) for now, id, at, *rest in rows]

    def backlog(self) -> list[ViewQueue]:
        rows = self.line.run(lambda connection: connection.execute(SQL["backlog"]).fetchall())
        found = {view: ViewQueue(view, *rest) for view, *rest in rows}
        return [found.get(view, ViewQueue(view, 0, None, 0)) for view in VIEWS]

    def services(self) -> list[ServiceHealth]:
        """The database from here, and the others as the nodes see them."""
        given = {"lately_us": _micros(LATELY_S)}

        def read(connection: Any) -> tuple[Any, list[Any], float]:
            began_s = self.clock.elapsed_s()
            server = connection.execute(SQL["server"]).fetchone()
            took_s = self.clock.elapsed_s() - began_s
            return server, connection.execute(SQL["services"], given).fetchall(), took_s

        (is_standby, version, standbys), rows, took_s = self.line.run(read)
        kind = "a standby: it cannot be written" if is_standby else "primary"
        followed = f", followed by {standbys} standby{'s' * (standbys != 1)}" if standbys else ""
        says = f"PostgreSQL {version}, {kind}{followed}"
        database = ServiceHealth("database", not is_standby, says, round(1000 * took_s, 1))
        return [database, *health_of(rows, self.clock)]


@dataclass(slots=True)
class Membership:
    """A node's own row: renewed within the transaction of its heartbeat."""

    name: str
    life: int
    clock: Clock
    state: str = ""
    says: str = ""
    orders: Orders = field(default_factory=Orders)
    reports: Sequence[ServiceReport] = ()
    """What it has found of the services since the last heartbeat."""
    _events: deque[tuple[float, str, str]] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    def note(self, kind: str, says: str) -> None:
        """An event for the log; it is written with the next heartbeat."""
        self._events.append((self.clock.elapsed_s(), kind, says))

    def renew(self, connection: Any) -> Callable[[], None]:
        """Write what is new, and read the orders. Returns what to do after the commit."""
        given = {"name": self.name, "life": self.life, "state": self.state, "says": self.says}
        row = connection.execute(SQL["renew"], given).fetchone()
        if row is None:
            return lambda: self._ordered(Orders(is_member=False), ())
        if row[0]:
            put_event(connection, self.name, "node.back", f"{self.name} is heard again")
        events = tuple(self._events)
        for at_s, kind, says in events:
            put_event(connection, self.name, kind, says, self.clock.elapsed_s() - at_s)
        for report in self.reports:
            connection.execute(SQL["put_service"], {"node": self.name, **msgspec.structs.asdict(report)})
        for name, beat_at in connection.execute(SQL["silent"], {"silent_us": _micros(SILENT_S)}).fetchall():
            del beat_at
            put_event(connection, name, "node.silent", f"{name} has not been heard for {SILENT_S:g} s")
        orders = Orders(is_draining=row[1], version=_agreed(connection))
        return lambda: self._ordered(orders, events)

    def _ordered(self, orders: Orders, written: Sequence[object]) -> None:
        self.orders, self.reports = orders, ()
        for _ in written:
            self._events.popleft()

    def leave(self, line: Transactions, says: str) -> None:
        """The node ends in order. A database that is away will see it fall silent instead."""

        def leave(connection: Any) -> None:
            connection.execute(SQL["leave"], {"name": self.name, "life": self.life, "says": says})
            for at_s, kind, words in tuple(self._events):
                put_event(connection, self.name, kind, words, self.clock.elapsed_s() - at_s)
            put_event(connection, self.name, "node.left", f"{self.name} left: {says}")

        try:
            line.run(leave, is_lasting=True)
        except GossamerError:
            return


def forget_old(connection: Any) -> None:
    """The events and nodes of long ago."""
    connection.execute(SQL["forget_events"])
    connection.execute(SQL["forget_nodes"])


def put_event(connection: Any, node: str, kind: str, says: str, ago_s: float = 0.0) -> None:
    given = {"node": node, "kind": kind, "says": says[:2000].replace("\0", ""), "ago": _micros(ago_s)}
    connection.execute(SQL["put_event"], given)


Found = tuple[Instant, str, str, Instant | None, float, str]
"""Of a service by a node: the time, the service, the node, since when it is away, milliseconds, words."""


def health_of(rows: Sequence[Found], clock: Clock) -> list[ServiceHealth]:
    """Of each service, over all nodes that have looked."""
    found = []
    for name in dict.fromkeys(row[1] for row in rows):
        seen = [row for row in rows if row[1] == name]
        away = [row for row in seen if row[3] is not None]
        since = min((row[3] for row in away if row[3] is not None), default=None)
        words = away[0][5] if away else seen[0][5]
        found.append(
            ServiceHealth(
                name,
                not away,
                words,
                round(min(row[4] for row in seen), 1),
                None if since is None else since - _ahead(seen[0][0], clock),
                tuple(row[2] for row in away) if len(away) < len(seen) else (),
            )
        )
    return found


def _agreed(connection: Any) -> str:
    row = connection.execute(SQL["agreed"]).fetchone()
    return str(row[0]) if row is not None else ""


def _micros(seconds: float) -> int:
    return round(seconds * SECOND)


def _ahead(now: Instant, clock: Clock) -> int:
    """How far the database's clock is ahead of ours, in whole seconds, so that an instant reads the same each time."""
    return round((now - clock.now()) / SECOND) * SECOND
