"""The response as received, and where the archive keeps it."""

from enum import StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url, id_of

VANISHED = frozenset({301, 302, 303, 307, 308, 404, 410})
"""Answers that say a page is no longer at its address, which takes it out of the views."""
CHARSET_FROM = {
    "bom": "byte order mark",
    "header": "Content-Type header",
    "meta": "declared in the page",
    "zeros": "told by its zero bytes",
    "escapes": "told by its escape sequences",
    "utf-8": "not declared, valid UTF-8",
    "guess": "not declared, guessed",
    "reader": "from the plugin that read it",
}
"""What can tell the encoding of a page, in words."""


class Truncated(StrEnum):
    """Why a body is not whole; the words are those of WARC-Truncated."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


class Capture(msgspec.Struct, frozen=True):
    """One answer: transfer coding removed, content coding kept."""

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
    """Why its sender could not prove who it is, when that was let pass (`fetch.tls = "record"`)."""
    head_s: float = 0.0
    """Of `took_s`, the time until the header fields were there; not stored."""

    @property
    def id(self) -> int:
        """The same for the same address and instant, so that a rebuild from the archive finds it again."""
        return capture_id_of(self.url, self.fetched_at)

    def header(self, name: str) -> str | None:
        """The first field of that name; None when there is none."""
        wanted = name.lower()
        return next((value for field, value in self.headers if field.lower() == wanted), None)

    def joined(self, name: str) -> str | None:
        """All fields of that name as one list (RFC 9110, 5.3); None when there is none."""
        wanted = name.lower()
        found = [value for field, value in self.headers if field.lower() == wanted]
        return ", ".join(found) if found else None


def capture_id_of(url: Url, fetched_at: Instant) -> int:
    return id_of(f"{fetched_at} {url.text}")


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a record lies in the archive. Numbers count the records of a volume from 0."""

    volume: str
    number: int
    offset: int
    length: int


class Kept(msgspec.Struct, frozen=True):
    """What the catalogue holds of a capture: where it lies and what can be said without opening it."""

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
    """Whether views hold it: a successful page that was kept whole."""
    refers_at: Instant | None = None
    """When the capture of the same address was made that holds the body; None: it has its own."""
    charset: str = ""
    """The encoding that its text was read in; empty when none was read."""
    charset_from: str = ""
    """What told it: a key of CHARSET_FROM."""
    is_unread: bool = False
    """No reader could read it: a rebuild tries again."""


def charset_in_words(charset: str, charset_from: str) -> str:
    """For people; empty when no text was read."""
    return f"{charset} ({CHARSET_FROM.get(charset_from, charset_from)})" if charset else ""
