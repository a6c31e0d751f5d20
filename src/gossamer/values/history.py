"""What is remembered of a page and how often it changes, and when it is due again."""

import struct
from enum import IntFlag, StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url

MOST_RECENT = 32
"""Ends of visits that are remembered one by one, as bits."""
_PACKED = struct.Struct("<ffeeHIBB")
PACKED_BYTES = _PACKED.size
_LARGEST_HALF = 60_000.0


class Change(IntFlag):
    """How two captures of a page differ. Text and facts can each change without the other; bytes change with both."""

    NONE = 0
    BYTES = 1
    TEXT = 2
    """The content block, title and description; not navigation, advertisement or date lines around it."""
    FACTS = 4
    """The quads the page states."""


COUNTS = Change.TEXT | Change.FACTS
"""What counts as a change unless told otherwise."""


class Prints(msgspec.Struct, frozen=True, array_like=True):
    """Fingerprints of one capture; an empty one is not known."""

    body: bytes = b""
    text: bytes = b""
    facts: bytes = b""


class VisitFinding(msgspec.Struct, frozen=True, gc=False):
    """What a visit that was not the first found out."""

    at: Instant
    elapsed_s: float
    """Since the visit before."""
    has_changed: bool
    changed_at: Instant | None = None
    """When it last changed, where server, sitemap, feed or page say so. Believed only as far as it can be true."""


class History(msgspec.Struct, frozen=True, gc=False):
    """Enough to know the likelihood of every rate of change, and what the older policies look at; `packed` in 20 bytes.

    Of visits that found no change only the sum of their intervals matters, whatever the rate. Visits that found one
    are kept as their number and mean logarithm of interval: exact where changes are seldom, exact where they are far
    more frequent than visits, close between (docs/decisions/0015).
    """

    quiet_days: float = 0.0
    """Days in which it is known not to have changed."""
    changes: float = 0.0
    """Intervals in which it changed, nobody knows when nor how often. Old ones fade, so not a whole number."""
    log_days: float = 0.0
    """Mean natural logarithm of the lengths of those intervals, in days."""
    dated: float = 0.0
    """Changes of which the moment is known."""
    visits: int = 0
    recent: int = 0
    """The last visits, the latest the lowest bit: 1 where a change was found."""
    every: int = 1
    """`fr_max` of the policy `paper`: the page is visited each so many crawls."""
    threshold: int = 40
    """Per cent of the pages it links to that must have changed for it to be looked at out of turn."""


def packed(history: History) -> bytes:
    """20 bytes, little-endian: two floats, two half floats, visits, recent, every, threshold."""
    return _PACKED.pack(
        history.quiet_days,
        history.log_days,
        min(history.changes, _LARGEST_HALF),
        min(history.dated, _LARGEST_HALF),
        min(history.visits, 0xFFFF),
        history.recent & 0xFFFFFFFF,
        min(history.every, 0xFF),
        history.threshold,
    )


def unpacked(octets: bytes) -> History:
    """The inverse of `packed`. Raises ValueError on anything else."""
    if len(octets) != PACKED_BYTES:
        raise ValueError(f"a history has {PACKED_BYTES} bytes, not {len(octets)}")
    quiet, log_days, changes, dated, visits, recent, every, threshold = _PACKED.unpack(octets)
    return History(quiet, changes, log_days, dated, visits, recent, every, threshold)


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
    """Why it is due then (`values.history.Why`), or how its absence is waited for."""
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


class Why(StrEnum):
    """Stable codes, shown by `why`. Add, never rename."""

    FIRST = "first"
    """Nothing is known of it yet: the interval of the average page."""
    RATE = "rate"
    """What its rate of change and its importance are worth under the budget."""
    SHORTEST = "shortest"
    """It would pay to come sooner; the least interval is kept."""
    LONGEST = "longest"
    """It would pay to come later, or never; no page waits longer than this."""
    EVEN = "even"
    """Every page alike."""
    TURN = "turn"
    """Its turn comes each so many crawls."""
    LINKS = "links"
    """Enough of the pages it links to have changed, or the page that links to it has."""
    LISTED = "listed"
    """A sitemap or a feed says that it has changed since."""
    ASKED = "asked"
    """Its host asks for this much time between two visits to a page."""


IN_WORDS: dict[Why, str] = {
    Why.FIRST: "its rate of change is not known yet: it is revisited like the average page",
    Why.RATE: "due by its estimated rate of change",
    Why.SHORTEST: "it changes faster than the shortest interval between fetches",
    Why.LONGEST: "it rarely changes; this is the longest interval",
    Why.EVEN: "every page is revisited at the same interval",
    Why.TURN: "its regular turn",
    Why.LINKS: "pages it links to, or that link to it, have changed",
    Why.LISTED: "a sitemap or feed says that it has changed since the last fetch",
    Why.ASKED: "its robots.txt sets a minimum time between fetches of a page (Recrawl-delay)",
}


class Due(msgspec.Struct, frozen=True, gc=False):
    at: Instant
    why: Why


class PolicyPage(msgspec.Struct, frozen=True, gc=False):
    """A page as a policy sees it."""

    id: int
    """Its address's id; evenly spread, so that a sample of pages can be taken by it."""
    group: tuple[str, ...] = ()
    """Whose pages it resembles: its site, then its URL template."""
    history: History = History()
    importance: float = 1.0
    """Relative to the average page."""


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A policy's answer to a visit."""

    history: History
    due: Due
    checks_links: bool = False
    """The pages it links to, one step further from the start of the site, are due at once (`tree`)."""


class Reschedule(msgspec.Struct, frozen=True):
    """Word to the frontier: a page that waits for its time is to come sooner, or was at least thought of."""

    url: Url
    due_at: Instant | None
    """None: it comes when it comes, and only the look is noted."""
    why: Why = Why.LINKS
    look: Look | None = None
    threshold: int | None = None
    """Of links that must have changed from now on; None: as before."""
