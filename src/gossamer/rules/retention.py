"""Which versions of a page the archive keeps."""

from collections.abc import Iterable, Sequence

import msgspec

from gossamer.base.clock import DAY, Instant
from gossamer.config.slices import Retain
from gossamer.values.capture import VANISHED

WEEK = 7 * DAY
MONTH = 4 * WEEK
"""Whole weeks, so that a version kept as one a month was also kept as one a week before."""
ALL_FOR = 30 * DAY
WEEKLY_FOR = 364 * DAY


class RetainedVersion(msgspec.Struct, frozen=True):
    """What the decision needs to know about a capture."""

    fetched_at: Instant
    status: int = 200
    is_page: bool = True
    """Whether it was searchable."""
    refers_at: Instant | None = None
    """When the capture that has its body was made; None: it has its own."""


def kept(versions: Sequence[RetainedVersion], retain: Retain, now: Instant) -> frozenset[Instant]:
    """The instants of the versions to keep. REQUIRES: all captures of one URL, the oldest first, no instant twice.

    Idempotent: applied again at the same moment to what it kept, it keeps all of it.
    """
    if retain.kind == "all" or not versions:
        return frozenset([one.fetched_at for one in versions])
    chosen = _last(versions, retain.versions) if retain.kind == "last" else _thinned(versions, now)
    chosen |= _held_by_views(versions)
    return frozenset(chosen | {one.refers_at for one in versions if one.fetched_at in chosen and one.refers_at})


def _last(versions: Sequence[RetainedVersion], amount: int) -> set[Instant]:
    """The newest pages, and every time one of them was found unchanged.

    Other answers with a body are counted separately, so that an outage, or a banner that is different every day, does
    not push out any page. When a page was found gone stays known: the first answer that said so.
    """
    whole = [one for one in versions if one.refers_at is None]
    pages = [one.fetched_at for one in whole if one.is_page][-amount:]
    others = [one.fetched_at for one in whole if not one.is_page][-amount:]
    bodies = {*pages, *others}
    seen = {one.fetched_at for one in versions if one.refers_at in bodies}
    return bodies | seen | _when_gone([one for one in versions if not pages or one.fetched_at >= pages[0]])


def _when_gone(versions: Sequence[RetainedVersion]) -> set[Instant]:
    found = set()
    is_gone = False
    for one in versions:
        if one.is_page:
            is_gone = False
        elif one.status in VANISHED and not is_gone:
            found.add(one.fetched_at)
            is_gone = True
    return found


def _thinned(versions: Sequence[RetainedVersion], now: Instant) -> set[Instant]:
    chosen = {versions[0].fetched_at}
    of_slot: dict[tuple[int, int], RetainedVersion] = {}
    for one in versions:
        age = now - one.fetched_at
        if age <= ALL_FOR:
            chosen.add(one.fetched_at)
            continue
        span = WEEK if age <= WEEKLY_FOR else MONTH
        slot = (span, one.fetched_at // span)
        before = of_slot.get(slot)
        if before is None or _worth(one) >= _worth(before):
            of_slot[slot] = one
    return chosen | {one.fetched_at for one in of_slot.values()}


def _worth(one: RetainedVersion) -> int:
    """Ranks the captures of a slot: the newest page is kept, or else the newest of the next kind."""
    if one.is_page:
        return 3
    if one.refers_at is not None:
        return 1
    return 2 if 200 <= one.status < 300 else 0


def _held_by_views(versions: Sequence[RetainedVersion]) -> set[Instant]:
    """The newest capture; the newest page, and what may have removed it from the views since: an answer that says it is
    gone, or any successful one that was not a page (it may ask not to be indexed; only reading it would tell).

    For a URL that never was a page, the two newest answers with a body: the next visit may refer to one of them.
    """
    newest_page = next((one.fetched_at for one in reversed(versions) if one.is_page), None)
    held = {versions[-1].fetched_at}
    if newest_page is None:
        return held | set(_newest(versions, 2))
    later = [one for one in versions if one.fetched_at > newest_page]
    gone = [one.fetched_at for one in later if one.status in VANISHED]
    return held | {newest_page, *gone[-1:], *_newest(later)}


def _newest(versions: Iterable[RetainedVersion], amount: int = 0) -> list[Instant]:
    """Successful answers with their own body; the last `amount` of them, or all."""
    return [one.fetched_at for one in versions if one.refers_at is None and 200 <= one.status < 300][-amount:]
