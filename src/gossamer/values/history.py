"""What visits to one page have taught about how often it changes. Small: it is kept for every page there is."""

import struct
from enum import IntFlag

import msgspec

from gossamer.base.clock import Instant

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
