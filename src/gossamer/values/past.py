"""What is remembered of a page that was fetched, for when it is visited again: a small row a page, in the frontier."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.history import History, Prints, packed, unpacked

MOST_NEW = 10
"""New pages that count of one visit: a page of thousands of links is no better than one of ten."""
MOST_LEADS = 5_000
FADES = (4, 5)
"""What is left of `Past.leads` at each further visit."""


class Validators(msgspec.Struct, frozen=True):
    """What a server called its last answer by; sent back to it, so that it may answer "not modified" (RFC 9110, 13)."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


class Original(msgspec.Struct, frozen=True):
    """The capture that holds the body which a later one does without."""

    url: str
    fetched_at: Instant
    digest: bytes
    is_page: bool = True


class Look(msgspec.Struct, frozen=True, array_like=True):
    """One look at the pages that a page links to: how many of them had changed since its own last visit (B3)."""

    at: Instant
    changed: int
    links: int
    threshold: int
    """Per cent of them that would call the page, at that look."""


class Past(msgspec.Struct, frozen=True, array_like=True):
    """Stored as MessagePack: new fields only at the end, with a default."""

    visited_at: Instant
    """The last visit that told something about the page."""
    due_at: Instant
    original_at: Instant = 0
    """When the capture was made that holds its body."""
    digest: bytes = b""
    """SHA-256 of that body as received; empty: no such capture may be referred to."""
    etag: str = ""
    last_modified: str = ""
    is_page: bool = False
    """Whether the views hold it."""
    prints: Prints = Prints()
    history: bytes = packed(History())
    gone: int = 0
    """Visits in a row that found it gone."""
    why: str = ""
    """Why it is due then (`values.due.Why`), or how its absence is waited for."""
    changed_at: Instant = 0
    """The last visit that found a change that counts; 0: none has."""
    look: Look | None = None
    """The last look at the pages it links to that was noted."""
    leads: int = 0
    """Hundredths of pages: how many new ones its visits have led to, those of long ago counting less (`led`)."""
    links: bytes = b""
    """A fingerprint of where it leads within its own host; empty: not known."""
    said_at: Instant = 0
    """When it last changed, as a sitemap or feed said by the time of its last visit; 0: none did."""
    free_at: Instant = 0
    """Not to be visited before: its host asks for a Recrawl-delay."""

    @property
    def validators(self) -> Validators:
        return Validators(self.etag, self.last_modified)

    @property
    def known(self) -> History:
        try:
            return unpacked(self.history)
        except ValueError:
            return History()

    def original(self, url: str) -> Original | None:
        return Original(url, self.original_at, self.digest, self.is_page) if self.digest else None

    @property
    def new_pages(self) -> float:
        """How many new pages a visit leads to, or rather more: about five times that."""
        return self.leads / 100

    def led(self, new: int) -> "Past":
        """With so many new pages that its last visit led to."""
        return msgspec.structs.replace(self, leads=min(self.leads + 100 * min(new, MOST_NEW), MOST_LEADS))

    def without_body(self) -> "Past":
        """Its next answer is taken whole: what was kept is no longer what the views hold, or was at another address."""
        return msgspec.structs.replace(self, digest=b"", etag="", last_modified="", prints=Prints(), is_page=False)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Past)


def encoded(past: Past) -> bytes:
    return _ENCODER.encode(past)


def decoded(kept: bytes | None) -> Past | None:
    """None also for what cannot be read: the page is then visited as if for the first time."""
    try:
        return _DECODER.decode(kept) if kept is not None else None
    except msgspec.DecodeError:
        return None
