"""Quarantine: addresses of an endless series wait outside the due queue, counted, listed, and given back on request.

What each template has brought is written down with the visits; whether that makes a trap is decided elsewhere.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gossamer.base.clock import Instant
from gossamer.frontier.known import find_host_id
from gossamer.frontier.rows import HELD, text_of
from gossamer.frontier.sqlite.hosts import host_id_of
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.url import id_of
from gossamer.values.visit import TemplateTally, Yield

_SQL = load("gossamer.frontier.sqlite")
MOST_MOVED = 10_000
"""Waiting addresses that are moved when their template is quarantined; the others are, when their turn comes."""

Templates = Callable[[str], str]
Judge = Callable[[TemplateTally], bool]


@dataclass(slots=True)
class Quarantine:
    """The quarantined templates of each host, as they stand on disk. Traps are few, so all are in memory.

    Memory is changed by `remember`, after the commit.
    """

    template_of: Templates
    judge: Judge | None = None
    _held: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """By host id: its name, and the templates."""

    def load(self, connection: State) -> None:
        self._held.clear()
        found: dict[tuple[int, str], set[str]] = {}
        for host_id, name, template in connection.execute(_SQL["quarantined"]):
            found.setdefault((host_id, name), set()).add(template)
        self._held.update({host_id: (name, frozenset(held)) for (host_id, name), held in found.items()})

    def concerns(self, host_id: int) -> bool:
        return host_id in self._held

    def is_held(self, host_id: int, lane: int, rest: str) -> bool:
        found = self._held.get(host_id)
        return found is not None and self.template_of(text_of(lane, found[0], rest)) in found[1]

    def remember(self, host_id: int, name: str, template: str, is_held: bool) -> None:
        templates = self._held.get(host_id, (name, frozenset[str]()))[1]
        templates = templates | {template} if is_held else templates - {template}
        if templates:
            self._held[host_id] = (name, templates)
        else:
            self._held.pop(host_id, None)

    def count(self, connection: State, held: Iterable[tuple[int, int, str]]) -> None:
        """New addresses (host id, lane, text) have joined those that are held."""
        many = Counter((host_id, self._template(host_id, lane, rest)) for host_id, lane, rest in held)
        rows = [(amount, host_id, id_of(template)) for (host_id, template), amount in many.items()]
        connection.executemany(_SQL["template_held"], rows)

    def hold(self, connection: State, host_id: int, lane: int, place: tuple[int, int], rest: str) -> None:
        """One due address, found when its turn came, joins those that are held. `place`: priority, sequence."""
        connection.execute(_SQL["held"], (host_id, lane, 0, *place))
        self.count(connection, [(host_id, lane, rest)])
        _moved(connection, host_id, 1)

    def _template(self, host_id: int, lane: int, rest: str) -> str:
        return self.template_of(text_of(lane, self._held[host_id][0], rest))

    def learn(self, connection: State, host_id: int, name: str, yielded: Yield) -> bool:
        """Write down what a visit brought; says whether its template is now to be quarantined."""
        key = (host_id, id_of(yielded.template))
        learned = (*key, yielded.template, int(yielded.is_fruitful))
        row = connection.execute(_SQL["learned"], learned).fetchone()
        fetched, fruitful, held, quarantined_at = row
        if self.judge is None or quarantined_at is not None:
            return False
        return self.judge(TemplateTally(name, yielded.template, fetched, fruitful, fetched + held))


def quarantine(
    connection: State,
    host: str,
    template: str,
    template_of: Templates,
    now: Instant,
    leased: int | None = None,
) -> tuple[int, int]:
    """Hold back what waits under a template, up to MOST_MOVED at once; says the host's id and how many.

    `leased` is the sequence number of the address that is being visited at the host: it stays where it is.
    """
    host_id = host_id_of(connection, host)
    connection.execute(_SQL["template_quarantined"], (host_id, id_of(template), template, now))
    rows = connection.execute(_SQL["due_of_host"], (host_id, MOST_MOVED)).fetchall()
    wanted = [row for row in rows if template_of(text_of(row[1], host, row[5])) == template]
    moved = [row[:5] for row in wanted if row[4] != leased]
    connection.executemany(_SQL["held"], moved)
    connection.execute(_SQL["template_held"], (len(moved), host_id, id_of(template)))
    _moved(connection, host_id, len(moved))
    return host_id, len(moved)


def release(connection: State, host: str, template: str, template_of: Templates) -> tuple[int | None, int]:
    """What was held under a template waits for its turn again; says the host's id (None: unknown) and how many.

    What is learned of the template starts afresh.
    """
    host_id = find_host_id(connection, host)
    if host_id is None:
        return None, 0
    rows = connection.execute(_SQL["held_of_host"], (host_id,)).fetchall()
    moved = [row[:5] for row in rows if template_of(text_of(row[1] - HELD, host, row[5])) == template]
    connection.executemany(_SQL["released"], moved)
    connection.execute(_SQL["template_released"], (host_id, id_of(template)))
    _moved(connection, host_id, -len(moved))
    connection.execute(_SQL["host_resumed"], (sum({1 << (row[1] - HELD) for row in moved}), host_id))
    return host_id, len(moved)


def _moved(connection: State, host_id: int, amount: int) -> None:
    moves: Mapping[str, int] = {tallies.QUEUED: -amount, tallies.QUARANTINED: amount}
    connection.execute(_SQL["host_held"], (amount, host_id))
    tallies.add(connection, moves)
