"""Captures enter the catalogue of the shared database, many at a time; `store.captures` reads it there too."""

from collections.abc import Sequence

import msgspec

from gossamer.store import tallies
from gossamer.store.captures import row_of
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.capture import Kept
from gossamer.values.url import Url

_SQL = load("gossamer.store.postgres", "captures.sql")
_COLUMNS = (
    "host_ids", "url_ids", "fetched_ats", "capture_ids", "urls", "volume_ids", "numbers", "offsets", "lengths",
    "statuses", "media_types", "digests", "sizes", "are_pages", "refers_ats", "charsets",
    "charsets_from", "are_unread",
)  # fmt: skip


def insert(connection: Connection, kept: Sequence[Kept], withdrawing: Sequence[Kept] = ()) -> dict[str, int]:
    """Enter captures, inside the caller's transaction; says how counters move. One entered again changes nothing.

    `withdrawing`: those of them that say that their page is gone, or is not to be indexed any more.
    """
    if not kept:
        return {}
    volume_ids = {name: _volume_id(connection, name) for name in sorted({one.place.volume for one in kept})}
    new_pages = _new_pages(connection, [one.url for one in kept if one.is_page])
    rows = [_row_of(one, volume_ids[one.place.volume]) for one in kept]
    given = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    fresh = connection.execute(_SQL["insert"], given).rowcount
    pages = [one for one in kept if one.is_page]
    restored = connection.execute(_SQL["restored"], _moments_of(pages)).rowcount if pages else 0
    withdrawn = connection.execute(_SQL["withdrawn"], _moments_of(withdrawing)).rowcount if withdrawing else 0
    return {tallies.CAPTURES: fresh, tallies.PAGES: new_pages + restored - withdrawn}


def _new_pages(connection: Connection, urls: Sequence[Url]) -> int:
    """How many of these addresses have no page in the catalogue yet."""
    distinct = list({url.text: url for url in urls}.values())
    if not distinct:
        return 0
    given = {
        "host_ids": [url.host.id for url in distinct],
        "url_ids": [url.id for url in distinct],
        "urls": [url.text for url in distinct],
    }
    row = connection.execute(_SQL["held"], given).fetchone()
    return len(distinct) - (row[0] if row else 0)


def _moments_of(kept: Sequence[Kept]) -> dict[str, list[object]]:
    return {
        "host_ids": [one.url.host.id for one in kept],
        "url_ids": [one.url.id for one in kept],
        "urls": [one.url.text for one in kept],
        "ats": [one.fetched_at for one in kept],
    }


def _volume_id(connection: Connection, name: str) -> int:
    given = {"volume": name}
    row = connection.execute(_SQL["volume"], given).fetchone()
    row = row or connection.execute(_SQL["volume_added"], given).fetchone()
    row = row or connection.execute(_SQL["volume"], given).fetchone()
    assert row is not None
    return int(row[0])


def _row_of(kept: Kept, volume_id: int) -> tuple[object, ...]:
    """PostgreSQL has no text with a NUL in it."""
    plain = msgspec.structs.replace(kept, media_type=kept.media_type.replace("\0", "\ufffd"))
    return row_of(plain, volume_id)
