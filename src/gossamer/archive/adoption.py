"""Records that a crash left beyond the catalogue's end: they are entered at the next start."""

import hashlib
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.archive.catalogue import acknowledged, may_be_page
from gossamer.archive.members import DamagedBytes
from gossamer.archive.reader import Scanned, Trace, scan, volumes_in
from gossamer.archive.volumes import ArchiveEnd
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.parse.sniff import is_sitemap, media_type_of
from gossamer.store import captures
from gossamer.store.sqlite.database import Database
from gossamer.values.capture import Capture, Kept, capture_id_of

ADOPTED_AT_ONCE = 200
WORDLESS = ("image/", "audio/", "video/", "font/", "application/gzip", "application/x-gzip")


async def adopt(database: Database, files: Files, folder: Path, tell: Tell) -> int:
    """Enter the records beyond the catalogue's end: they were archived, and the crash came before the acknowledgement.

    Says how many were new to it. Call it at start-up, after `Volumes.open`. A catalogue that was lost is made anew.
    Damage is passed over and told.
    """
    end = await acknowledged(database)
    found = (kept for one in _beyond(files, folder, end, tell) if (kept := _kept_of(one)) is not None)
    added = 0
    while batch := list(islice(found, ADOPTED_AT_ONCE)):
        added += await database.run(partial(captures.insert, kept=batch))
    return added


def seems_page(capture: Capture) -> bool:
    """A guess for captures that were archived and never acknowledged, by their first bytes alone: to read them is for
    readers. It stands until the page is fetched again, and beside that capture then."""
    body = capture.body if capture.header("content-encoding") is None else b""
    media_type = media_type_of(capture.header("content-type"), body)
    is_wordless = media_type.startswith(WORDLESS) or is_sitemap(body, media_type)
    return may_be_page(capture) and not is_wordless


def _beyond(files: Files, folder: Path, end: ArchiveEnd | None, tell: Tell) -> Iterator[Scanned]:
    start = end or ArchiveEnd("", 0, 0)
    for name in volumes_in(files, folder):
        if name < start.volume:
            continue
        number, offset = (start.count, start.size) if name == start.volume else (0, 0)
        for one in scan(files, folder, name, offset, number):
            if isinstance(one, Scanned):
                yield one
            elif isinstance(one, DamagedBytes):
                tell("volume.damaged", volume=name, offset=one.offset, length=one.length, why=one.why)


def _kept_of(scanned: Scanned) -> Kept | None:
    capture, trace = scanned.capture, scanned.trace
    if capture is not None:
        digest, size = hashlib.sha256(capture.body).digest(), len(capture.body)
        return _kept(scanned, capture, digest, size, seems_page(capture))
    if trace is not None:
        return _kept(scanned, trace, trace.digest, trace.size, False)
    if again := scanned.again:
        kept = _kept(scanned, again.answer, again.digest, 0, False)
        return msgspec.structs.replace(kept, refers_at=again.refers_at)
    return None


def _kept(scanned: Scanned, said: Capture | Trace, digest: bytes, size: int, is_page: bool) -> Kept:
    return Kept(
        capture_id=capture_id_of(said.url, said.fetched_at),
        url=said.url,
        fetched_at=said.fetched_at,
        place=scanned.place,
        status=said.status,
        media_type=_media_type(said),
        digest=digest,
        size=size,
        is_page=is_page,
    )


def _media_type(said: Capture | Trace) -> str:
    declared = next((value for name, value in said.headers if name.lower() == "content-type"), "")
    return declared.partition(";")[0].strip().lower()
