"""What is remembered of a page that was fetched, for when it is visited again: a small row a page, in the frontier."""

import msgspec

from gossamer.clock import Instant
from gossamer.values.history import History, Prints, packed, unpacked


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
