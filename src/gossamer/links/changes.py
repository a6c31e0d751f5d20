"""What a page's links change at their targets, packed and sorted: a run. Pure.

A run is two byte strings: columns in order of target, and the texts end to end. Nothing needs to be unpacked to find
a target in it: a binary search over the first column does.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter

import msgspec

from gossamer.values.link import Link
from gossamer.values.url import Url, id_of

MOST_ANCHORS = 100
LONGEST_TEXT = 120

REMOVED, OUTER, INNER = 0, 1, 2

Change = tuple[int, int, int, str]
"""Target, source, kind, text: one page begins or ceases to link to another. The kind is REMOVED, OUTER (from another
host) or INNER; sorting puts a removal before an addition by the same page. A plain tuple: there are 40 to a page."""

Read = Callable[[int, int], bytes]
"""`read(offset, length)` gets a piece of one of a run's byte strings."""

by_target = itemgetter(0)

LEAST, MOST = -(1 << 63), (1 << 63) - 1
WINDOW = 256
"""Rows that are cheaper to read at once than to look for one by one."""


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """A link that stands at its target."""

    source: int
    is_inner: bool
    text: str


class Target(msgspec.Struct, frozen=True):
    count: int = 0
    anchors: tuple[Standing, ...] = ()
    """At most MOST_ANCHORS: those from other hosts first, then by the sources' ids, which are as good as chance."""


def pointing(source: Url, links: Sequence[Link]) -> dict[int, tuple[int, str]]:
    """Targets the page vouches for, each once: kind and text. Links to itself and nofollow links vouch for nothing."""
    host, own = source.host.name, source.text
    ours = f"http://{host}/", f"https://{host}/"
    found: dict[int, tuple[int, str]] = {}
    for link in links:
        address, text = link.url.text, link.text
        if not link.may_follow or address == own:
            continue
        target = id_of(address)
        if target not in found or not found[target][1]:
            found[target] = INNER if address.startswith(ours) else OUTER, text[:LONGEST_TEXT]
    return found


def changes_between(source: int, old: dict[int, tuple[int, str]], new: dict[int, tuple[int, str]]) -> list[Change]:
    if not old:
        return [(target, source, kind, text) for target, (kind, text) in new.items()]
    gone = [(target, source, REMOVED, "") for target, was in old.items() if new.get(target) != was]
    return gone + [(target, source, *now) for target, now in new.items() if old.get(target) != now]


def pack(changes: list[Change]) -> tuple[bytes, bytes]:
    """The columns and texts of a run; sorts `changes`. REQUIRES: there are some, and they come by source in order of
    their ids, each page's removals first. Then to sort by target, which keeps the order of equals, is enough.

    Columns: targets and sources (8 bytes each), ends of the texts (4), kinds (1), in this machine's byte order.
    """
    changes.sort(key=by_target)
    targets, sources, kinds, texts = zip(*changes, strict=True)
    joined = "".join(texts)
    if joined.isascii():
        lengths = list(map(len, texts))
    else:
        lengths = [len(text.encode("utf-8", "replace")) for text in texts]
    columns = array("q", targets), array("q", sources), array("I", accumulate(lengths)), bytes(kinds)
    return b"".join(columns), joined.encode("utf-8", "replace")


def rows_between(count: int, read: Read, low: int, below: int | None) -> tuple[int, int]:
    """Which of `count` rows have targets from `low` to before `below` (None: to the end)."""
    start = _first_row(count, read, low)
    if below is None:
        return start, count
    if start == count or array("q", read(8 * start, 8))[0] >= below:
        return start, start  # most targets are not in most runs
    return start, _first_row(count, read, below)


def unpack(count: int, start: int, end: int, read: Read, read_text: Read) -> list[Change]:
    """The changes in rows `start` to before `end` of a run of `count`."""
    if start >= end:
        return []
    some = end - start
    targets, sources, ends = array("q"), array("q"), array("I")
    targets.frombytes(read(8 * start, 8 * some))
    sources.frombytes(read(8 * count + 8 * start, 8 * some))
    before = min(start, 1)  # the row before says where the first text begins
    ends.frombytes(read(16 * count + 4 * (start - before), 4 * (some + before)))
    kinds = read(20 * count + start, some)
    first = ends.pop(0) if before else 0
    raw = read_text(first, ends[-1] - first)
    starts = [0, *(one - first for one in ends)]
    texts = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(starts)]
    return list(zip(targets, sources, kinds, texts, strict=True))


def applied(target: Target, changes: Iterable[Change]) -> Target:
    """REQUIRES: the changes are of this target, oldest first."""
    count = target.count
    standing = {anchor.source: anchor for anchor in target.anchors}
    for _, source, kind, text in changes:
        if kind == REMOVED:
            count -= 1
            standing.pop(source, None)
        else:
            count += 1
            standing[source] = Standing(source, kind == INNER, text)
    ranked = sorted(standing.values(), key=_rank) if len(standing) > 1 else list(standing.values())
    return Target(count, tuple(ranked[:MOST_ANCHORS]))


def _first_row(count: int, read: Read, target: int) -> int:
    """Targets are hashes, spread evenly: where one must lie can be guessed, and a few guesses do where halving would
    take twenty. Every third step halves all the same, should somebody have bent the odds."""
    low, high, least, most, steps = 0, count, LEAST, MOST, 0
    while high - low > WINDOW:
        steps += 1
        middle = (low + high) // 2
        if steps % 3:
            middle = low + int((target - least) / max(1, most - least) * (high - low))
        start = min(max(middle - WINDOW // 2, low), high - WINDOW)
        seen = array("q", read(8 * start, 8 * WINDOW))
        if seen[0] >= target:
            high, most = start, seen[0]
        elif seen[-1] < target:
            low, least = start + WINDOW, seen[-1]
        else:
            return start + bisect_left(seen, target)
    return low + bisect_left(array("q", read(8 * low, 8 * (high - low))), target)


def _rank(anchor: Standing) -> tuple[bool, int]:
    return anchor.is_inner, anchor.source
