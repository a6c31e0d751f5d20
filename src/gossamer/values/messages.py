"""What is asked of a reader, and what it answers. Apart from `reading`: who asks need not load what parses pages."""

import hashlib
import struct
from typing import Literal

import msgspec

from gossamer.archive.record import response_record, revisit_record
from gossamer.base.clock import Instant
from gossamer.parse.sniff import media_type_of
from gossamer.rules.learned.marks import Marks
from gossamer.rules.learned.soft404 import Says
from gossamer.rules.robots.matcher import ParsedRobots
from gossamer.values.capture import Capture, Kept, Place, Truncated
from gossamer.values.history import Prints
from gossamer.values.link import How
from gossamer.values.listing import Listing
from gossamer.values.past import Original

JOB = "gossamer.reader.reading:job"
"""The function that a reader runs: one `ReadJob` in (`parts_of`), one `ReadDone` out, as msgpack."""

Task = Literal["read", "robots", "store"]
Keep = Literal["all", "structured"]


class ReadJob(msgspec.Struct, frozen=True):
    capture: Capture
    task: Task = "read"
    """What to do beside making the record: read a page, parse a robots.txt, or nothing."""
    keep: Keep = "all"
    """Which pages are kept whole: all, or only those that state facts."""
    agent: str = ""
    """Our product name, as pages and robots.txt would call us."""
    how: How = How.LINK
    """How its address was come by: plain text that was named as a sitemap is one."""
    original: Original | None = None
    """The capture to refer to when its body is the same, or the server says so."""
    prints: bool = False
    """Whether fingerprints are wanted: the page comes again."""


class Learnt(msgspec.Struct, frozen=True, array_like=True):
    """What tells a page that brings something from one of an endless series, or from one that says it is none."""

    marks: Marks
    exact: bytes
    says: Says = Says.NOTHING
    canonical: str = ""
    """The host that the page names as its canonical one."""


class ReadDone(msgspec.Struct, frozen=True):
    record: bytes
    reading: bytes
    """For the spool; empty when there is nothing for the views."""
    media_type: str
    digest: bytes
    """SHA-256 of the body as received."""
    is_page: bool = False
    """Whether the views hold it."""
    links: tuple[str, ...] = ()
    """Addresses that may be followed."""
    fact_count: int = 0
    title: str = ""
    may_follow: bool = True
    flags: tuple[str, ...] = ()
    robots: ParsedRobots | None = None
    listing: Listing | None = None
    """What it lists, when it is a sitemap or a feed."""
    learnt: Learnt | None = None
    """Of HTML pages."""
    prints: Prints | None = None
    is_shown: bool = True
    """Whether the views are given what was read; not when nothing that counts has changed in it."""
    is_whole: bool = True
    """Whether its body is in the archive."""
    refers_at: Instant | None = None
    """When the capture was made that this record refers to for its body."""
    modified_at: Instant | None = None
    """When the page says that it last changed, where it comes again."""
    size: int = 0
    """Bytes of the body as received."""
    charset: str = ""
    charset_from: str = ""
    """The encoding of its text, and what told it."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ReadJob)
_LENGTH = struct.Struct(">I")


def parts_of(job: ReadJob) -> tuple[bytes, bytes]:
    """A job as it is sent to a reader: all but the body with its length before it, then the body, not copied."""
    capture = job.capture
    bare = msgspec.structs.replace(job, capture=msgspec.structs.replace(capture, body=b""))
    head = _ENCODER.encode(bare)
    return _LENGTH.pack(len(head)) + head, capture.body


def job_of(payload: bytes) -> ReadJob:
    """The inverse, of the parts joined."""
    (length,) = _LENGTH.unpack_from(payload)
    bare = _DECODER.decode(memoryview(payload)[_LENGTH.size : _LENGTH.size + length])
    capture = msgspec.structs.replace(bare.capture, body=payload[_LENGTH.size + length :])
    return msgspec.structs.replace(bare, capture=capture)


def kept_at(place: Place, capture: Capture, done: ReadDone) -> Kept:
    """What the catalogue holds of it, once its record lies at `place`."""
    return Kept(
        capture.id,
        capture.url,
        capture.fetched_at,
        place,
        capture.status,
        done.media_type,
        done.digest,
        done.size,
        done.is_page and done.is_shown and done.refers_at is None,
        done.refers_at,
        done.charset,
        done.charset_from,
    )


def is_unread(capture: Capture) -> bool:
    """Whether its body was not read because it is the one we have: our limits never cut a body to nothing."""
    return capture.status == 200 and capture.truncated is Truncated.LENGTH and not capture.body


def stored(capture: Capture, digest: bytes | None = None, original: Original | None = None) -> ReadDone:
    """The record without any reading. `digest`: the body's SHA-256, if it is known already. `original`: what a 304
    says is unchanged."""
    if original is not None and (capture.status == 304 or is_unread(capture)):
        record = revisit_record(msgspec.structs.replace(capture, truncated=None), original)
        return ReadDone(record, b"", "", original.digest, refers_at=original.fetched_at)
    digest = digest if digest is not None else hashlib.sha256(capture.body).digest()
    media_type = media_type_of(capture.header("content-type"), capture.body)
    return ReadDone(response_record(capture, digest), b"", media_type, digest, size=len(capture.body))
