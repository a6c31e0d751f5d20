"""A response as received (`Capture`), and its entry in the archive's catalogue."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url, id_of

VANISHED = frozenset({301, 302, 303, 307, 308, 404, 410})
"""Statuses that say a page is no longer at its URL, which removes it from the views."""
CHARSET_FROM = {
    "bom": "byte order mark",
    "header": "Content-Type header",
    "meta": "declared in the page",
    "zeros": "detected by its zero bytes",
    "escapes": "detected by its escape sequences",
    "utf-8": "not declared, valid UTF-8",
    "guess": "not declared, guessed",
    "reader": "from the plugin that read it",
}
"""Where a page's encoding was taken from, in words."""


class Truncated(StrEnum):
    """Why a body is incomplete, in the words of WARC-Truncated."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


class Capture(msgspec.Struct, frozen=True):
    """One response: transfer coding removed, content coding kept."""

    url: Url
    fetched_at: Instant
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """In order, as received; names keep their case; bytes beyond ASCII as Latin-1."""
    body: bytes
    address: str = ""
    """The IP address that was dialled."""
    truncated: Truncated | None = None
    took_s: float = 0.0
    distrust: str = ""
    """Why the server's certificate could not be trusted, when that was allowed (`fetch.tls = "record"`)."""
    head_s: float = 0.0
    """Time to the end of the header fields, part of `took_s`; not stored."""

    @property
    def id(self) -> int:
        """The same for the same URL and instant, so that a rebuild from the archive computes it again."""
        return capture_id_of(self.url, self.fetched_at)

    def header(self, name: str) -> str | None:
        """The first field of that name, or None."""
        wanted = name.lower()
        return next((value for field, value in self.headers if field.lower() == wanted), None)

    def joined(self, name: str) -> str | None:
        """All fields of that name as one list (RFC 9110, 5.3), or None."""
        wanted = name.lower()
        found = [value for field, value in self.headers if field.lower() == wanted]
        return ", ".join(found) if found else None


def capture_id_of(url: Url, fetched_at: Instant) -> int:
    return id_of(f"{fetched_at} {url.text}")


class Place(msgspec.Struct, frozen=True, array_like=True):
    """The location of a record in the archive; `number` counts the records of a volume from 0."""

    volume: str
    number: int
    offset: int
    length: int


class Kept(msgspec.Struct, frozen=True):
    """A capture's entry in the catalogue: its location, and what can be known without opening the record."""

    capture_id: int
    url: Url
    fetched_at: Instant
    place: Place
    status: int
    media_type: str
    digest: bytes
    """SHA-256 of the body as received."""
    size: int
    is_page: bool
    """Whether the views hold it: a successful page that was kept whole."""
    refers_at: Instant | None = None
    """When the capture of the same URL was made that has the body; None: it has its own."""
    charset: str = ""
    """The encoding its text was decoded with; empty when none was."""
    charset_from: str = ""
    """Where that was taken from: a key of CHARSET_FROM."""
    is_unread: bool = False
    """Reading it failed: a rebuild tries again."""


def charset_in_words(charset: str, charset_from: str) -> str:
    """For people; empty when no text was decoded."""
    return f"{charset} ({CHARSET_FROM.get(charset_from, charset_from)})" if charset else ""
