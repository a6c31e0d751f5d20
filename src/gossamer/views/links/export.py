"""Every link, for exports: a few pages at a time, each read for itself, so that a slow reader holds nothing open."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from gossamer.base.errors import damage_named
from gossamer.spool.deflate import Broken
from gossamer.store.statements import load
from gossamer.values.link import Link
from gossamer.views.links.reader import LOWEST, links_in

_SQL = load("gossamer.views.links", "export.sql")
AT_ONCE = 100


def every_link(path: Path) -> Iterator[tuple[str, tuple[Link, ...]]]:
    """Each page that links, and its links in its order. Nothing when there is no such file yet."""
    last, is_more = LOWEST, path.is_file()
    while is_more:
        with damage_named(path, sqlite3.DatabaseError, ValueError, *Broken):
            rows = [(number, url, links_in(outgoing)) for number, url, outgoing in _next(path, last)]
        for last, url, links in rows:  # noqa: B007
            yield url, links
        is_more = len(rows) == AT_ONCE


def _next(path: Path, last: int) -> list[tuple[int, str, bytes]]:
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, 5.0, isolation_level=None, uri=True)) as connection:
        return connection.execute(_SQL["next_sources"], (last, AT_ONCE)).fetchall()
