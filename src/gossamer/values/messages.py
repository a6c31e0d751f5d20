"""Messages between processes.

Jobs for workers and their answers, and facts on their way to the graph.

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
from gossamer.values.robots import Naming, ParsedRobots
from gossamer.values.url import Url

# What a sitemap or feed lists. Apart from `parse.sitemaps`, so that the crawler need not load the parser.


class Listed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    url: Url
    hint: int = 0
    """Negative: earlier; see `values.link.Offer`."""
    changed_at: Instant | None = None
    """When it last changed according to the list; never in the future."""
    id: str = ""
    """Feeds: the item's own id."""
    is_foreign: bool = False
    """On another host than the list. A sitemap counts for it only if that host's robots.txt names the sitemap."""
    every_s: float | None = None
    """How often it changes according to the sitemap: a hint that the policy limits."""


class Listing(msgspec.Struct, frozen=True, array_like=True):
    kind: str
    """"sitemap", "index" (its entries are sitemaps) or "feed"."""
    entries: tuple[Listed, ...] = ()
    again_s: float | None = None
    """Feeds: when to poll again; None for sitemaps, which the policy for pages handles."""
    flags: tuple[str, ...] = ()


class NotFoundClaim(IntEnum):
    """How clearly a page says that there is no such page."""

    NOTHING = 0
    PERHAPS = 1  # in its text, or a bare 404
    PLAINLY = 2  # in its title or first heading, with little other text


class Marks(msgspec.Struct, frozen=True, array_like=True):
    words: int = 0
    """How many different words it has; estimated where only parts of the text were read."""
    vocabulary: tuple[int, ...] = ()
    """Hashes of words of the page. All numbers here have at most thirty bits, the size of a digit of Python's ints."""
    shingles: tuple[int, ...] = ()
    """Hashes of runs of three words."""
    facts: tuple[int, ...] = ()
    """Hashes of stated values, numbers left out."""
    values: tuple[int, ...] = ()
    """Hashes of stated values as they are, numbers and all."""


Task = Literal["read", "robots", "store"]
Keep = Literal["all", "structured"]


class ReadJob(msgspec.Struct, frozen=True):
    capture: Capture
    task: Task = "read"
    """What to do in addition to writing the record: read a page, parse a robots.txt, or nothing."""
    keep: Keep = "all"
    """Which pages are kept whole: all, or only those with facts."""
    agent: str = ""
    """Our product name, as pages and robots.txt files address us."""
    how: How = How.LINK
    """How its URL was found: plain text named as a sitemap is read as one."""
    original: Original | None = None
    """The capture to refer to if the body is the same, or if the server says so."""
    prints: bool = False
    """Whether to compute fingerprints: the page will be revisited."""
    converted: bytes = b""
    """Its text as HTML, if another program had to find it."""


class PageSigns(msgspec.Struct, frozen=True, array_like=True):
    """What shows whether a page is new, one of an endless series, or an error page."""

    marks: Marks
    exact: bytes
    says: NotFoundClaim = NotFoundClaim.NOTHING
    canonical: str = ""
    """The host of the page's canonical URL."""


class ReadDone(msgspec.Struct, frozen=True):
    record: bytes
    reading: bytes
    """For the spool; empty if there is nothing for the views."""
    media_type: str
    digest: bytes
    """SHA-256 of the body as received."""
    is_page: bool = False
    """Whether the views hold it."""
    links: tuple[str, ...] = ()
    """URLs that may be followed."""
    fact_count: int = 0
    title: str = ""
    may_follow: bool = True
    flags: tuple[str, ...] = ()
    robots: ParsedRobots | None = None
    listing: Listing | None = None
    """What it lists, if it is a sitemap or feed."""
    signs: PageSigns | None = None
    """HTML pages only."""
    prints: Prints | None = None
    is_shown: bool = True
    """Whether the views get this reading; not if nothing relevant has changed."""
    is_whole: bool = True
    """Whether its body is in the archive."""
    refers_at: Instant | None = None
    """When the capture was made whose body this record refers to."""
    modified_at: Instant | None = None
    """When it last changed according to the page, if it will be revisited."""
    size: int = 0
    """Bytes of the body as received."""
    charset: str = ""
    charset_from: str = ""
    """The encoding of its text, and where that was taken from."""
    is_unread: bool = False
    """Reading it failed."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ReadJob)
_LENGTH = struct.Struct(">I")


def parts_of(job: ReadJob) -> tuple[bytes, bytes]:
    """A job as sent to a reader: all but the body, with its length in front, then the body, not copied."""
    capture = job.capture
    bare = msgspec.structs.replace(job, capture=msgspec.structs.replace(capture, body=b""))
    head = _ENCODER.encode(bare)
    return _LENGTH.pack(len(head)) + head, capture.body


def job_of(payload: bytes) -> ReadJob:
    """The inverse of `parts_of`, for the joined parts."""
    (length,) = _LENGTH.unpack_from(payload)
    bare = _DECODER.decode(memoryview(payload)[_LENGTH.size : _LENGTH.size + length])
    capture = msgspec.structs.replace(bare.capture, body=payload[_LENGTH.size + length :])
    return msgspec.structs.replace(bare, capture=capture)


def kept_at(place: Place, capture: Capture, done: ReadDone) -> Kept:
    """The catalogue's entry for a capture whose record was stored at `place`."""
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


# The facts of one page on their way into the graph. Apart from the store, so that others need not load that.


class PageFacts(msgspec.Struct, frozen=True):
    url: Url
    facts: bytes
    """N-Triples; blank node labels are the capture's own."""
    capture_id: int
    fetched_at: Instant
    sources: bytes = b""
    """The origin of each fact, as packed by `extract.places`."""
    version: int | None = None
    """As in `Reading`."""

    @property
    def order(self) -> int:
        """As in `Reading`."""
        return self.fetched_at if self.version is None else self.version


# The job of making a safe copy of a stored page (`reader/documents.py`).


class CopyJob(msgspec.Struct, frozen=True):
    capture: Capture
    marks: dict[str, tuple[str, str, str]] = {}
    """By an element's path: the id it gets, the target of its mark, and the mark's text."""
    agent: str = ""
    """Our name: robots directives under that name apply to us."""
    is_original: bool = False
    """A document's own bytes are asked for, instead of a copy to be shown."""


class Copied(msgspec.Struct, frozen=True):
    html: bytes
    """Empty if it is not text. With `is_original`: the document; empty if it is none."""
    media_type: str
    may_show: bool = True
    """False: the page or its headers ask not to show a copy."""


COPIES = msgspec.msgpack.Decoder(Copied)


class SurveyJob(msgspec.Struct, frozen=True):
    """A robots.txt to be surveyed for one agent (`reader/documents.py`)."""

    body: bytes
    agent: str
    naming: Naming = "name"
    codings: str = ""
    """The Content-Encoding it came with."""


# The jobs of reading and comparing earlier captures (`reader/reading.py`).


class Plugged(msgspec.Struct, frozen=True):
    """The plugins of a collection, described so that another process can load the same ones."""

    readers: tuple[tuple[str, str], ...] = ()
    """Media type and name: a file and a function in it, or an entry point."""
    schemes: tuple[tuple[str, int], ...] = ()
    """Scheme and default port."""
    contexts: str = ""
    """The folder of JSON-LD contexts; always that of the collection at hand."""
    archives: bool = False
    """Whether the members of archives are read."""


NOTHING = Plugged()
LineChange = Literal["same", "added", "removed", "gap"]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    text: str
    is_changed: bool = False


class TextLine(msgspec.Struct, frozen=True):
    how: LineChange
    """A gap stands for unchanged lines that are not shown."""
    pieces: list[Piece] = []


class FactChanges(msgspec.Struct, frozen=True):
    """N-Triples lines. A blank node has the same label in both lists where it is the same node."""

    added: list[str] = []
    removed: list[str] = []
    kept: int = 0
    """Facts stated in both versions."""


class Difference(msgspec.Struct, frozen=True):
    """What changed on a page between two of its versions."""

    url: str
    from_at: str
    to_at: str
    changes: tuple[str, ...]
    text: list[TextLine]
    facts: FactChanges
    is_cut: bool = False
    """Whether there were more changes than are listed."""


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
    """N-Triples; empty if the page asks not to be indexed."""
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
    version: ReadVersion | None = None
    body: bytes | None = None
    """Without its content coding; None if that could not be decoded."""
    difference: Difference | None = None


VERSIONS_JOBS = msgspec.msgpack.Encoder()
VERSIONS_DONE = msgspec.msgpack.Decoder(HistoryDone)
