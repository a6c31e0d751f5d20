"""The catalogue of the archive: where each capture of a URL is.

Also adds records that a crash left out of it.

Catalogued records keep their number and offset, no matter what happens to their bytes. Damage between them takes one
number. Reading a damaged place raises ArchiveDamaged, so a reader of all places sees every damaged record once.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

from gossamer.archive import reader
from gossamer.archive.volumes import ArchiveEnd
from gossamer.base.clock import Instant
from gossamer.base.errors import ArchiveDamaged
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.parse.sniff import is_sitemap, media_type_of
from gossamer.store import captures
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.store.statements import State, StateWriter
from gossamer.values.capture import Capture, Kept, Place, Truncated, capture_id_of
from gossamer.values.url import Url


class Catalogue:
    """The captures of a collection, readable from any process while a crawl writes. Use it in a `with`."""

    def __init__(self, directory: Directory, files: Files) -> None:
        self._directory = directory
        self._files = files
        self._folder = directory.archive
        self._connection: State | None = None

    def __enter__(self) -> Self:
        self._connection = open_state(self._directory)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened().close()
        self._connection = None

    def kept(self, url: Url, at: Instant | None = None) -> Kept | None:
        """The newest capture of a URL that has a body; or the newest that is not later than `at`."""
        if at is None:
            return captures.latest(self._opened(), url)
        return next((one for one in captures.versions(self._opened(), url) if one.fetched_at <= at), None)

    def versions(self, url: Url) -> list[Kept]:
        """Newest first."""
        return captures.versions(self._opened(), url)

    def in_order(self) -> Iterator[Kept]:
        """Every capture, in the order of the archive."""
        return captures.in_order(self._opened())

    def pages(self) -> Iterator[Kept]:
        """Of each URL the newest capture that views contain."""
        return captures.pages(self._opened())

    def capture(self, url: Url, at: Instant | None = None) -> Capture | None:
        """The answer itself; None when there is none, or only its metadata is stored."""
        found = self.kept(url, at)
        return self.read(found) if found is not None else None

    def read(self, kept: Kept) -> Capture | None:
        """Also after its volume was rewritten; None if the capture was deleted in the meantime."""
        try:
            return reader.read_capture(self._files, self._folder, kept.place)
        except ArchiveDamaged:
            now = next((one for one in self.versions(kept.url) if one.fetched_at == kept.fetched_at), None)
            if now is not None and now.place == kept.place:
                raise
            return reader.read_capture(self._files, self._folder, now.place) if now is not None else None

    def _opened(self) -> State:
        if self._connection is None:
            raise RuntimeError("the catalogue is not open: use it in a `with`")
        return self._connection


async def acknowledged(database: StateWriter) -> ArchiveEnd | None:
    """Where the catalogue ends in the archive, for `Volumes.open`; None when it is empty."""
    return await database.read(_end)


def may_be_page(capture: Capture) -> bool:
    """Whether it is an answer that may be read as a page."""
    is_whole = capture.truncated in (None, Truncated.LENGTH)
    return 200 <= capture.status < 300 and is_whole and capture.url != capture.url.robots


def _end(connection: State) -> ArchiveEnd | None:
    for name in reversed(captures.volume_names(connection)):
        found = captures.end_of(connection, name)
        if found is not None:  # a rewritten volume may contain no captures
            return ArchiveEnd(name, *found)
    return None


AT_ONCE = 1000


class ArchivePlaces:
    """The places of all records, for the spool's follower. Without `directory`, volumes are walked."""

    def __init__(self, files: Files, folder: Path, directory: Directory | None = None) -> None:
        self._files, self._folder, self._directory = files, folder, directory

    def volumes(self) -> list[str]:
        """Existing volumes, in order."""
        return [name for name in self._files.names(self._folder) if reader.VOLUME_NAME.fullmatch(name)]

    def known_volumes(self) -> list[str]:
        """Existing and catalogued volumes, in order."""
        with self._catalogue() as catalogue:
            return sorted({*self.volumes(), *(captures.volume_names(catalogue) if catalogue else ())})

    def of(self, volume: str, from_offset: int = 0, from_number: int = 0) -> Iterator[Place]:
        """Places from record `from_number` on, which must begin at `from_offset`. A torn end is left out."""
        for place in self._known(volume, from_number):
            if place.offset < from_offset:
                continue
            yield from self._walked(volume, from_offset, from_number, place)
            yield place
            from_offset, from_number = place.offset + place.length, place.number + 1
        yield from self._walked(volume, from_offset, from_number, None)

    def _walked(self, volume: str, offset: int, number: int, until: Place | None) -> Iterator[Place]:
        """Uncatalogued records, up to the next catalogued one."""
        if (self._files.size(self._folder / volume) or 0) <= offset:
            return
        last = until.offset if until else None
        for member in reader.members(self._files, self._folder / volume, offset, last):
            if isinstance(member, reader.Torn):
                return
            if until is None or number < until.number:
                length = member.length if last is None else min(member.length, last - member.offset)
                yield Place(volume, number, member.offset, length)
            number += 1

    def _known(self, volume: str, from_number: int) -> Iterator[Place]:
        """Read in batches, without an open transaction between them."""
        while True:
            with self._catalogue() as catalogue:
                some = captures.places_from(catalogue, volume, from_number, AT_ONCE) if catalogue else []
            yield from some
            if len(some) < AT_ONCE:
                return
            from_number = some[-1].number + 1

    def _catalogue(self) -> AbstractContextManager[State | None]:
        directory = self._directory
        return closing(open_state(directory)) if directory is not None and directory.is_begun else nullcontext()


ADOPTED_AT_ONCE = 200
WORDLESS = ("image/", "audio/", "video/", "font/", "application/gzip", "application/x-gzip")


async def adopt(database: StateWriter, files: Files, folder: Path, tell: Tell) -> int:
    """Add the records beyond the catalogue's end, archived just before a crash; returns how many were new.

    Call it at start, after `Volumes.open`. It rebuilds a lost catalogue. Damage is skipped, with an event.
    """
    end = await acknowledged(database)
    found = (kept for one in _beyond(files, folder, end, tell) if (kept := _kept_of(one)) is not None)
    added = 0
    while batch := list(islice(found, ADOPTED_AT_ONCE)):
        added += await database.run(partial(captures.insert, kept=batch))
    return added


def seems_page(capture: Capture) -> bool:
    """A guess by the first bytes of a capture that was archived but not settled, since only reader processes may parse
    it. It counts until the page is fetched again."""
    body = capture.body if capture.header("content-encoding") is None else b""
    media_type = media_type_of(capture.header("content-type"), body)
    is_wordless = media_type.startswith(WORDLESS) or is_sitemap(body, media_type)
    return may_be_page(capture) and not is_wordless


def _beyond(files: Files, folder: Path, end: ArchiveEnd | None, tell: Tell) -> Iterator[reader.Scanned]:
    start = end or ArchiveEnd("", 0, 0)
    for name in reader.volumes_in(files, folder):
        if name < start.volume:
            continue
        number, offset = (start.count, start.size) if name == start.volume else (0, 0)
        for one in reader.scan(files, folder, name, offset, number):
            if isinstance(one, reader.Scanned):
                yield one
            elif isinstance(one, reader.DamagedBytes):
                tell("volume.damaged", volume=name, offset=one.offset, length=one.length, why=one.why)


def _kept_of(scanned: reader.Scanned) -> Kept | None:
    response, capture, trace = scanned.response, scanned.capture, scanned.trace
    if response is None:
        return None
    declared = next((value for name, value in response.headers if name.lower() == "content-type"), "")
    return Kept(
        capture_id=capture_id_of(response.url, response.fetched_at),
        url=response.url,
        fetched_at=response.fetched_at,
        place=scanned.place,
        status=response.status,
        media_type=declared.partition(";")[0].strip().lower(),
        digest=scanned.digest(),
        size=len(capture.body) if capture else trace.size if trace else 0,
        is_page=capture is not None and seems_page(capture),
        refers_at=scanned.again.refers_at if scanned.again else None,
    )
