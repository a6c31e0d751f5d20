"""What is remembered of a page between fetches.

How often it changes, its validators, and when it is due again.
"""

import struct
from enum import IntFlag, StrEnum

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.url import Url

MOST_RECENT = 32
"""Recent visits that are remembered one by one, as bits."""
_PACKED = struct.Struct("<ffeeHIBB")
PACKED_BYTES = _PACKED.size
_LARGEST_HALF = 60_000.0


class Change(IntFlag):
    """How two captures of a page differ. Text and facts can change independently; bytes change with either."""

    NONE = 0
    BYTES = 1
    TEXT = 2
    """The main text, title and description; not navigation, advertising or dates around them."""
    FACTS = 4
    """The facts stated on the page."""


COUNTS = Change.TEXT | Change.FACTS
"""What counts as a change by default."""


class Prints(msgspec.Struct, frozen=True, array_like=True):
    """Fingerprints of one capture; empty: unknown."""

    body: bytes = b""
    text: bytes = b""
    facts: bytes = b""


class VisitFinding(msgspec.Struct, frozen=True, gc=False):
    """What a visit, other than the first, found."""

    at: Instant
    elapsed_s: float
    """Since the previous visit."""
    has_changed: bool
    changed_at: Instant | None = None
    """When it last changed, according to server, sitemap, feed or page. Believed only as far as it is possible."""


class History(msgspec.Struct, frozen=True, gc=False):
    """What estimates of a page's rate of change need, for every policy. Small, because every page has one.

    For visits without a change only the sum of their intervals matters, at any rate. Visits with a change are
    kept as their number and the mean logarithm of their intervals: exact where changes are rare or far more frequent
    than visits, close in between (docs/decisions/0015).
    """

    quiet_days: float = 0.0
    """Days in which it is known not to have changed."""
    changes: float = 0.0
    """Intervals with at least one change at an unknown time. Old ones fade, so this is not a whole number."""
    log_days: float = 0.0
    """Mean natural logarithm of the lengths of those intervals, in days."""
    dated: float = 0.0
    """Changes whose time is known."""
    visits: int = 0
    recent: int = 0
    """The last visits, the latest in the lowest bit: 1 where a change was found."""
    every: int = 1
    """`fr_max` of the policy `paper`: the page is visited every so many crawls."""
    threshold: int = 40
    """Percentage of the pages it links to that must have changed for it to be visited out of turn."""


def packed(history: History) -> bytes:
    """20 bytes, little-endian: two floats, two half floats, visits, recent, every, threshold."""
    return _PACKED.pack(
        history.quiet_days,
        history.log_days,
        min(history.changes, _LARGEST_HALF),
        min(history.dated, _LARGEST_HALF),
        min(history.visits, 0xFFFF),
        history.recent % (1 << MOST_RECENT),
        min(history.every, 0xFF),
        history.threshold,
    )


def unpacked(octets: bytes) -> History:
    """The inverse of `packed`. Raises ValueError for anything else."""
    if len(octets) != PACKED_BYTES:
        raise ValueError(f"a history has {PACKED_BYTES} bytes, not {len(octets)}")
    quiet, log_days, changes, dated, visits, recent, every, threshold = _PACKED.unpack(octets)
    return History(quiet, changes, log_days, dated, visits, recent, every, threshold)


MOST_NEW = 10
"""New pages that count for one visit: a page with thousands of links is no better than one with ten."""
MOST_LEADS = 5_000
FADES = (4, 5)
"""The fraction of `Past.leads` that is left after each further visit."""


class Validators(msgspec.Struct, frozen=True):
    """What a server labelled its last answer with; sent back so that it can answer "not modified" (RFC 9110, 13)."""

    etag: str = ""
    last_modified: str = ""

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


class Original(msgspec.Struct, frozen=True):
    """The capture whose body a later one refers to instead of having its own."""

    url: str
    fetched_at: Instant
    digest: bytes
    is_page: bool = True


class LinkCheck(msgspec.Struct, frozen=True, array_like=True):
    """One check of the pages that a page links to: how many had changed since its own last visit (B3)."""

    at: Instant
    changed: int
    links: int
    threshold: int
    """Percentage of them that would have made the page due, at that check."""


class Past(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a fetched page: one small row in the frontier.

    Stored as MessagePack: add fields only at the end, with a default.
    """

    visited_at: Instant
    """The last visit that learned something about the page."""
    due_at: Instant
    original_at: Instant = 0
    """When the capture that has its body was made."""
    digest: bytes = b""
    """SHA-256 of that body as received; empty: no capture may refer to it."""
    etag: str = ""
    last_modified: str = ""
    is_page: bool = False
    """Whether the views hold it."""
    prints: Prints = Prints()
    history: bytes = packed(History())
    gone: int = 0
    """Consecutive visits that found it gone."""
    why: str = ""
    """Why it is due then (`values.history.Why`), or how its absence is handled."""
    changed_at: Instant = 0
    """The last visit that found a relevant change; 0: none has."""
    link_check: LinkCheck | None = None
    """The last check of the pages it links to."""
    leads: int = 0
    """New pages its visits have led to, in hundredths; old visits count less (`led`)."""
    links: bytes = b""
    """A fingerprint of its links within its own host; empty: unknown."""
    said_at: Instant = 0
    """When it last changed according to a sitemap or feed, as of its last visit; 0: none said."""
    free_at: Instant = 0
    """Not to be visited before: its host sets a Recrawl-delay."""

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
        """New pages that a visit leads to, on a scale about five times as large."""
        return self.leads / 100

    def led(self, new: int) -> "Past":
        """After a visit that led to so many new pages."""
        return msgspec.structs.replace(self, leads=min(self.leads + 100 * min(new, MOST_NEW), MOST_LEADS))

    def without_body(self) -> "Past":
        """Its next answer is fetched whole: the views no longer hold what was kept, or its URL is another."""
        return msgspec.structs.replace(self, digest=b"", etag="", last_modified="", prints=Prints(), is_page=False)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Past)


def encoded(past: Past) -> bytes:
    return _ENCODER.encode(past)


def decoded(kept: bytes | None) -> Past | None:
    """None also for what cannot be decoded: the page is then visited as if for the first time."""
    try:
        return _DECODER.decode(kept) if kept is not None else None
    except msgspec.DecodeError:
        return None


class Why(StrEnum):
    """Why a page is due when it is. Stable codes, shown by `why`; IN_WORDS explains them. Add, never rename."""

    FIRST = "first"
    RATE = "rate"
    SHORTEST = "shortest"
    LONGEST = "longest"
    EVEN = "even"
    TURN = "turn"
    LINKS = "links"
    LISTED = "listed"
    ASKED = "asked"


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
    """The id of its URL; evenly distributed, so that it can be used to sample pages."""
    group: tuple[str, ...] = ()
    """What it belongs with: its site, then its URL template."""
    history: History = History()
    importance: float = 1.0
    """Relative to the average page."""


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A policy's answer to a visit."""

    history: History
    due: Due
    checks_links: bool = False
    """The pages it links to, one step further from the start page, are due at once (`tree`)."""


class Reschedule(msgspec.Struct, frozen=True):
    """A request to the frontier: a waiting page is due earlier, or a check of its links is to be noted."""

    url: Url
    due_at: Instant | None
    """None: the due time stays, and only the check is noted."""
    why: Why = Why.LINKS
    link_check: LinkCheck | None = None
    threshold: int | None = None
    """Percentage of links that must have changed from now on; None: as before."""
