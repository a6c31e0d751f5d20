"""The seeds of a collection and the reach of each, so that a crawl can be taken up again without naming them."""

import sqlite3
from collections.abc import Iterable

from gossamer.store.statements import load
from gossamer.values.url import Url

_SQL = load("gossamer.store.sqlite", "seeds.sql")


def put(connection: sqlite3.Connection, seeds: Iterable[Url], reach: str) -> None:
    """Enter seeds inside the caller's transaction; naming one again changes its reach."""
    connection.executemany(_SQL["put"], [(seed.text, reach) for seed in seeds])


def every(connection: sqlite3.Connection) -> list[tuple[Url, str]]:
    return [(Url(text), reach) for text, reach in connection.execute(_SQL["all"])]
