"""The options that crawls of a collection were given, and what its refusals were judged by: functions on a
connection."""

import sqlite3
from collections.abc import Mapping

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.statements import load

_SQL = load("gossamer.store.sqlite", "options.sql")


class Option(msgspec.Struct, frozen=True):
    value: object
    """As a settings file has it."""
    given_at: Instant


def put(connection: sqlite3.Connection, given: Mapping[str, object], now: Instant) -> None:
    """Inside the caller's transaction."""
    rows = [(name, msgspec.json.encode(value).decode(), now) for name, value in given.items()]
    connection.executemany(_SQL["put"], rows)


def every(connection: sqlite3.Connection) -> dict[str, Option]:
    """By name. A value that cannot be read counts as not given."""
    found = {}
    for name, value, given_at in connection.execute(_SQL["all"]):
        try:
            found[name] = Option(msgspec.json.decode(value), given_at)
        except (msgspec.DecodeError, TypeError):
            continue
    return found


def drop(connection: sqlite3.Connection, name: str) -> bool:
    """Whether there was such an option."""
    return connection.execute(_SQL["drop"], (name,)).rowcount > 0


def judged_by(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute(_SQL["judged"]).fetchall())


def judge_by(connection: sqlite3.Connection, digests: Mapping[str, str]) -> None:
    connection.executemany(_SQL["judge_by"], digests.items())
