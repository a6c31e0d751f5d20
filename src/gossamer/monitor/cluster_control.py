"""Heartbeats and commands of a cluster, in its database.

Processes and instants are judged by the clock of the database.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar

from gossamer.base.clock import SECOND, Clock, Instant
from gossamer.base.environment import random_token
from gossamer.base.errors import GossamerError
from gossamer.monitor.control import (
    ADDRESSEE,
    FIGURES_DECODER,
    HOUR_S,
    PAUSES,
    Beat,
    ClusterMarks,
    Command,
    Sample,
    Vitals,
    arguments_of,
)
from gossamer.monitor.nodes import Transactions
from gossamer.store.postgres.database import Connection, storable
from gossamer.store.statements import load
from gossamer.values.format import as_json

T = TypeVar("T")
SQL = load("gossamer.monitor", "cluster.sql")
LOOK_S = 1.2
"""How old what was last seen may be; a process that sends heartbeats looks with each, and needs no other look."""
ALIVE_S = 10.0
"""A process whose last heartbeat is older is not alive."""
CLAIM_S = 30.0
COUNTED = ("seeds", "options", "documents")


class _Seen(NamedTuple):
    at_s: float
    """By our clock that never steps."""
    now: Instant
    """By the clock of the database."""
    marks: ClusterMarks
    beats: tuple[Beat, ...]
    """As of the database."""


class ClusterControl:
    """A node and its processes each have one. At most one transaction a second reads what all follow, and writes the
    heartbeat; while the database is away heartbeats are dropped, and what was last seen stays."""

    is_shared = True
    is_unusable = False

    def __init__(self, line: Transactions, node: str, host: str, clock: Clock) -> None:
        """`host`: the machine's name."""
        self.node = node
        self._line, self._host, self._clock = line, host, clock
        self._me = f"{node} {random_token(9)}"
        self._seen: _Seen | None = None
        self._tried_s: float | None = None
        self._consumes: set[str] = set()
        self._claimed: dict[str, list[Command]] = {}
        self._unmarked: set[int] = set()
        """Commands that were carried out and could not be marked as done."""
        self._turn = threading.Lock()
        self.companion: Callable[[Connection], Callable[[], None]] | None = None
        """Also done with each heartbeat; it returns what to do after the commit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def beat(self, name: str, pid: int, facts: Mapping[str, object] | None, vitals: Sequence[Vitals] = ()) -> bool:
        row = {"node": self.node, "name": name, "pid": pid, "facts": storable(json.dumps(facts))}
        return self._note(vitals, None if facts is None else row)

    def note(self, vitals: Sequence[Vitals]) -> bool:
        return self._note(vitals, None)

    def _note(self, vitals: Sequence[Vitals], beat: Mapping[str, object] | None) -> bool:
        rows = storable(json.dumps([_row_of(one) for one in vitals]))

        def write(connection: Connection) -> None:
            if beat is not None:
                connection.execute(SQL["put_beat"], beat)
            if vitals:
                connection.execute(SQL["put_vitals"], {"vitals": rows, "host": self._host})

        with self._turn:
            try:
                self._look(write)
            except GossamerError:  # away, or full: the next one may be written
                return False
        return True

    def end_workers(self, of: str) -> None:
        def end(connection: Connection) -> None:
            connection.execute(SQL["end_workers"], {"node": self.node, "kind": of + " "})
            for name in ("forget_vitals", "forget_samples", "forget_beats"):
                connection.execute(SQL[name])

        try:
            self._line.run(end)
        except GossamerError:
            return

    def vitals(self) -> list[Vitals]:
        rows = self._rows("every_vitals", {})
        ahead = self._ahead(rows)
        found = []
        for _, node, process, pid, at, since_at, state, version, figures, host in rows:
            shown = FIGURES_DECODER.decode(figures)
            one = Vitals(node, process, pid, at - ahead, since_at - ahead, shown, state, version=version, host=host)
            found.append(one)
        return found

    def history(self, since_at: Instant) -> list[Sample]:
        past = max(0, min(self._clock.now() - since_at, HOUR_S * SECOND))
        rows = self._rows("samples_since", {"past": past})
        ahead = self._ahead(rows)
        return [
            Sample(node, process, at - ahead, FIGURES_DECODER.decode(figures)) for _, node, process, at, figures in rows
        ]

    def beats(self) -> list[Beat]:
        seen = self._recent()
        if seen is None:
            return []
        now = seen.now + round((self._clock.elapsed_s() - seen.at_s) * SECOND)
        ahead = _whole_seconds(now - self._clock.now())
        return [replace(beat, at=beat.at - ahead, is_fresh=now - beat.at < ALIVE_S * SECOND) for beat in seen.beats]

    def ask(self, verb: str, **args: object) -> int:
        row = {
            "addressee": ADDRESSEE[verb],
            "verb": verb,
            "args": storable(json.dumps(args, sort_keys=True)),
            "is_done": verb in PAUSES,
        }

        def put(connection: Connection) -> int:
            connection.execute(SQL["commands_in_turn"])
            if verb in PAUSES:
                connection.execute(SQL["pause"], {"number": int(PAUSES[verb])})
            elif waiting := connection.execute(SQL["same_pending"], row).fetchone():
                return int(waiting[0])
            added = connection.execute(SQL["put_command"], row).fetchone()
            assert added is not None
            connection.execute(SQL["forget_done"], {"id": added[0]})
            return int(added[0])

        return self._change(put)

    def pending(self, addressee: str) -> list[Command]:
        with self._turn:
            if addressee not in self._consumes:
                self._consumes.add(addressee)
                self._tried_s = None
        self._recent()
        return [one for one in self._claimed.get(addressee, []) if one.id not in self._unmarked]

    def done(self, command_id: int) -> None:
        self._unmarked.add(command_id)
        ids = list(self._unmarked)
        try:
            self._change(lambda connection: connection.execute(SQL["mark_done"], {"ids": ids}))
        except GossamerError:
            return
        self._unmarked.difference_update(ids)

    def is_done(self, command_id: int) -> bool:
        rows = self._rows("is_done", {"id": command_id})
        return not rows or bool(rows[0][0])

    def discard_pending(self, addressee: str) -> None:
        """Nothing: another crawler left them to whichever is alive."""

    def clear(self, addressee: str) -> None:
        self._change(lambda connection: connection.execute(SQL["clear_commands"], {"addressee": addressee}))

    def marks(self) -> ClusterMarks:
        seen = self._recent()
        return seen.marks if seen is not None else ClusterMarks()

    def _recent(self) -> _Seen | None:
        """As of the last second or so; older while the database is away."""
        with self._turn:
            if self._tried_s is None or self._clock.elapsed_s() - self._tried_s > LOOK_S:
                with contextlib.suppress(GossamerError):  # away: what was seen last stays
                    self._look(None)
            return self._seen

    def _look(self, write: Callable[[Connection], None] | None) -> None:
        """One transaction: write, if there is something to write, and see what all processes follow. REQUIRES: `_turn`
        is held."""
        self._tried_s = self._clock.elapsed_s()

        def look(connection: Connection) -> tuple[_Seen, dict[str, list[Command]], Callable[[], None]]:
            after = nothing
            if write is not None:
                write(connection)
                after = self.companion(connection) if self.companion is not None else nothing
            claimed = {addressee: self._claim(connection, addressee) for addressee in sorted(self._consumes)}
            row = connection.execute(SQL["look"]).fetchone()
            assert row is not None
            now, marks, beats = row
            found = tuple(Beat(name, pid, at, json.loads(facts), node) for node, name, pid, at, facts in beats or ())
            numbers = dict(marks or {})
            counted = {name: numbers.get(name, 0) for name in COUNTED}
            seen = ClusterMarks(is_paused=bool(numbers.get("paused")), **counted)
            return _Seen(self._clock.elapsed_s(), now, seen, found), claimed, after

        self._seen, self._claimed, after = self._line.run(look)
        after()

    def _claim(self, connection: Connection, addressee: str) -> list[Command]:
        given = {"me": self._me, "addressee": addressee, "for_us": round(CLAIM_S * SECOND)}
        rows = connection.execute(SQL["claim"], given).fetchall()
        return [Command(number, verb, arguments_of(args), asked_at) for number, verb, args, asked_at in sorted(rows)]

    def _change(self, work: Callable[[Connection], T]) -> T:
        """A lasting change; what was seen before is looked at again."""
        found = self._line.run(work, is_lasting=True)
        self._tried_s = None
        return found

    def _rows(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        return self._line.run(lambda connection: connection.execute(SQL[statement], values).fetchall())

    def _ahead(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """How far the database's clock is ahead of ours, in whole seconds."""
        return _whole_seconds(rows[0][0] - self._clock.now()) if rows else 0


def nothing() -> None: ...


def _whole_seconds(by: int) -> int:
    """So that an instant reads the same each time: the rest is the way to the server."""
    return round(by / SECOND) * SECOND


def _row_of(one: Vitals) -> dict[str, object]:
    row = {field: getattr(one, field) for field in ("node", "process", "pid", "state", "version")}
    return {**row, "ago": max(0, one.at - one.since_at), "figures": as_json(one.figures)}
