"""The marks that `gossamer verify` leaves on damaged records."""

from collections.abc import Iterable, Sequence

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.statements import State, load

_SQL = load("gossamer.store", "damage.sql")
Key = tuple[str, int]
"""A volume's name and a record's number in it."""


class DamageMark(msgspec.Struct, frozen=True):
    volume: str
    number: int
    capture_id: int | None
    why: str

    @property
    def key(self) -> Key:
        return self.volume, self.number


class MarkCounts(msgspec.Struct, frozen=True):
    marked: int = 0
    open: int = 0
    """Those that nobody has acknowledged."""


def replace(connection: State, volumes: Iterable[str], marks: Sequence[DamageMark], now: Instant) -> None:
    """Mark the damaged records of these volumes. Other marks there are removed: those records are whole again."""
    connection.executemany(_SQL["clear"], list(_marked(connection, volumes) - {mark.key for mark in marks}))
    add(connection, marks, now)


def unmarked(connection: State, marks: Sequence[DamageMark]) -> set[Key]:
    """Those that are not in the state yet."""
    return {mark.key for mark in marks} - _marked(connection, {mark.volume for mark in marks})


def _marked(connection: State, volumes: Iterable[str]) -> set[Key]:
    return {(volume, number) for volume in volumes for (number,) in connection.execute(_SQL["in_volume"], (volume,))}


def add(connection: State, marks: Sequence[DamageMark], now: Instant) -> None:
    """Mark these too."""
    rows = [(mark.volume, mark.number, mark.capture_id, mark.why, now) for mark in marks]
    connection.executemany(_SQL["mark"], rows)


def acknowledge(connection: State, volumes: Iterable[str], now: Instant) -> None:
    connection.executemany(_SQL["acknowledge"], [(now, volume) for volume in volumes])


def acknowledged(connection: State) -> set[Key]:
    return {(volume, number) for volume, number in connection.execute(_SQL["acknowledged"])}


def counts(connection: State) -> MarkCounts:
    return MarkCounts(*connection.execute(_SQL["counts"]).fetchone())


def why(connection: State, capture_id: int) -> str:
    """Why the record of a capture cannot be read; empty when it is not marked."""
    row = connection.execute(_SQL["of_capture"], (capture_id,)).fetchone()
    return str(row[0]) if row is not None else ""


def moved(connection: State, old: str, new: str, numbers: Iterable[tuple[int, int]]) -> None:
    """A volume was rewritten: its marks go with the records, from the first number to the second. Inside the caller's
    transaction."""
    marked = {number for (number,) in connection.execute(_SQL["in_volume"], (old,))}
    rows = [(new, after, old, before) for before, after in numbers if before in marked]
    connection.executemany(_SQL["moved"], rows)
    connection.execute(_SQL["volume_cleared"], (old,))
