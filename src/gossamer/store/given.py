"""What a collection was given: its seeds and options, and what its refusals were judged by."""

from collections.abc import Iterable, Mapping

import msgspec

from gossamer.base.clock import Instant
from gossamer.store.statements import State, load
from gossamer.values.url import Url

_SQL = load("gossamer.store", "given.sql")


class Option(msgspec.Struct, frozen=True):
    value: object
    """As a settings file has it."""
    given_at: Instant


def put_options(connection: State, given: Mapping[str, object], now: Instant) -> None:
    """Inside the caller's transaction."""
    rows = [(name, msgspec.json.encode(value).decode(), now) for name, value in given.items()]
    connection.executemany(_SQL["option_put"], rows)


def stored_options(connection: State) -> dict[str, Option]:
    """By name. A value that cannot be read counts as not given."""
    found = {}
    for name, value, given_at in connection.execute(_SQL["options"]):
        try:
            found[name] = Option(msgspec.json.decode(value), given_at)
        except (msgspec.DecodeError, TypeError):
            continue
    return found


def drop_option(connection: State, name: str) -> bool:
    """Whether there was such an option."""
    return connection.execute(_SQL["option_drop"], (name,)).rowcount > 0


def judged_by(connection: State) -> dict[str, str]:
    return dict(connection.execute(_SQL["judged"]).fetchall())


def judge_by(connection: State, digests: Mapping[str, str]) -> None:
    connection.executemany(_SQL["judge_by"], digests.items())


def put_seeds(connection: State, urls: Iterable[Url], reach: str) -> None:
    """Enter seeds inside the caller's transaction; naming one again changes its reach."""
    connection.executemany(_SQL["seed_put"], [(seed.text, reach) for seed in urls])


def stored_seeds(connection: State) -> list[tuple[Url, str]]:
    return [(Url(text), reach) for text, reach in connection.execute(_SQL["seeds"])]
