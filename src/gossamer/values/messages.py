"""What processes say to each other: jobs for workers and their answers, and facts on their way to the graph.

Apart from the code that does the work, so that the process that asks need not load what parses pages.
"""

import struct
from enum import IntEnum
from typing import Literal

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.capture import Capture, Kept, Place
from gossamer.values.history import Original, Prints
from gossamer.values.link import How
from gossamer.values.robots import ParsedRobots
from gossamer.values.url import Url

# What a sitemap or a feed lists, as a crawl is told it. Apart from `listings`: who only follows lists parses none.


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    url: Url
    hint: int = 0
    """Below zero: sooner; see `values.link.Offer`."""
    changed_at: Instant | None = None
    """When the list says it last changed; never in the future."""
    id: str = ""
    """Feeds: the name of the item."""
    is_foreign: bool = False
    """On another host than the list itself. A map may speak for it only if that host's robots.txt names the map."""
    every_s: float | None = None
    """How often a map says it changes: a wish, to be held within the policy."""


class Listing(msgspec.Struct, frozen=True, array_like=True):
    kind: str
    """"sitemap", "index" (its entries are sitemaps) or "feed"."""
    entries: tuple[Listed, ...] = ()
    again_s: float | None = None
    """Feeds: when to look again; None for maps, which the policy for pages serves well."""
    flags: tuple[str, ...] = ()


class NotFoundClaim(IntEnum):
    """How plainly a page says of itself that it is none."""

    NOTHING = 0
    PERHAPS = 1  # in its text, or with a bare 404
    PLAINLY = 2  # in its title or first heading, and it says little else


class Marks(msgspec.Struct, frozen=True, array_like=True):
    words: int = 0
    """How many different ones it has, roughly: more are supposed where not all of the text was looked at."""
    vocabulary: tuple[int, ...] = ()
    """Each names a word of the page. All numbers here have thirty bits at most, which is what Python counts in."""
    shingles: tuple[int, ...] = ()
    """Each names three words in a row."""
    facts: tuple[int, ...] = ()
    """Each names the words of a value that the page states of something."""
    values: tuple[int, ...] = ()
    """Each names such a value as it stands, numbers and all."""


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


class PageSigns(msgspec.Struct, frozen=True, array_like=True):
    """What tells a page that brings something from one of an endless series, or from one that says it is none."""

    marks: Marks
    exact: bytes
    says: NotFoundClaim = NotFoundClaim.NOTHING
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
    learnt: PageSigns | None = None
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
    is_unread: bool = False
    """It was to be read, and no reader could."""


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
        capture_id=capture.id,
        url=capture.url,
        fetched_at=capture.fetched_at,
        place=place,
        status=capture.status,
        media_type=done.media_type,
        digest=done.digest,
        size=done.size,
        is_page=done.is_page and done.is_shown and done.refers_at is None,
        refers_at=done.refers_at,
        charset=done.charset,
        charset_from=done.charset_from,
        is_unread=done.is_unread,
    )


# What one page states, on its way into the graph. Apart from the store: who only hands it on need not load that.


class PageFacts(msgspec.Struct, frozen=True):
    url: Url
    facts: bytes
    """N-Triples; blank node labels are the capture's own."""
    capture_id: int
    fetched_at: Instant
    sources: bytes = b""
    """Where each of them stands, as `extract.places` packs it."""


# What a worker is asked for the copy of a stored page (`reader/copy.py`).


class CopyJob(msgspec.Struct, frozen=True):
    capture: Capture
    marks: dict[str, tuple[str, str, str]] = {}
    """By the path of an element: the id it gets, where its mark leads, and what it says."""
    agent: str = ""
    """Our name: what the page asks of robots by that name concerns us."""


class Copied(msgspec.Struct, frozen=True):
    html: bytes
    """Empty when it is no text."""
    media_type: str
    may_show: bool = True
    """False: the page, or its headers, ask not to show a copy."""


COPIES = msgspec.msgpack.Decoder(Copied)


# What a worker is asked about captures of the past (`reader/versions.py`).


class Plugged(msgspec.Struct, frozen=True):
    """What is plugged into a collection, in words that another process can make the same of."""

    readers: tuple[tuple[str, str], ...] = ()
    """Media type and name: a file and a function in it, or an entry point."""
    schemes: tuple[tuple[str, int], ...] = ()
    """Scheme and usual port."""
    contexts: str = ""
    """The folder of JSON-LD contexts; that of the collection at hand, whatever was written down."""


NOTHING = Plugged()
LineChange = Literal["same", "added", "removed", "gap"]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    text: str
    is_changed: bool = False


class TextLine(msgspec.Struct, frozen=True):
    how: LineChange
    """A gap stands for lines that are the same and are not shown."""
    pieces: list[Piece] = []


class FactChanges(msgspec.Struct, frozen=True):
    """N-Triples lines. A thing without a name has one label in both lists, wherever it is the same thing."""

    added: list[str] = []
    removed: list[str] = []
    kept: int = 0
    """Facts that both versions state."""


class Difference(msgspec.Struct, frozen=True):
    """What happened to a page between two of its versions."""

    url: str
    from_at: str
    to_at: str
    changes: tuple[str, ...]
    text: list[TextLine]
    facts: FactChanges
    is_cut: bool = False
    """Whether there was more than is told here."""


class ReadVersion(msgspec.Struct, frozen=True):
    """What a capture says and states."""

    url: str
    fetched_at: Instant
    status: int
    prints: Prints
    title: str = ""
    description: str = ""
    text: str = ""
    language: str = ""
    facts: bytes = b""
    """N-Triples; none when the page asks not to be indexed."""
    fact_count: int = 0
    sources: bytes = b""
    is_readable: bool = True
    may_index: bool = True
    may_cache: bool = True

    @property
    def words(self) -> str:
        return "\n".join([part for part in (self.title, self.description, self.text) if part])


class HistoryJob(msgspec.Struct, frozen=True):
    task: Literal["read", "body", "compare"]
    capture: Capture | None = None
    agent: str = ""
    before: ReadVersion | None = None
    after: ReadVersion | None = None


class HistoryDone(msgspec.Struct, frozen=True):
    said: ReadVersion | None = None
    body: bytes | None = None
    """Without its content coding; None when that could not be undone."""
    difference: Difference | None = None


VERSIONS_JOBS = msgspec.msgpack.Encoder()
VERSIONS_DONE = msgspec.msgpack.Decoder(HistoryDone)
