"""Runs: the changes that pages' links make to their targets, packed and sorted by target. Pure.

A run is two byte strings: columns in order of target, and the texts concatenated. A target is found by a binary search
over the first column, without unpacking.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

import msgspec

from gossamer.values.link import Link
from gossamer.values.url import Url, ids_of

MOST_ANCHORS = 100
LONGEST_TEXT = 120

REMOVED, OUTER, INNER = 0, 1, 2

Change = tuple[int, int, int, str]
"""Target, source, kind, text: one page starts or stops linking to another. The kind is REMOVED, OUTER (from another
host) or INNER; a page's removal comes before its addition."""

Read = Callable[[int, int], bytes]
"""`read(offset, length)` returns a piece of one of a run's byte strings."""

by_target = itemgetter(0)

LEAST, MOST = -(1 << 63), (1 << 63) - 1
WINDOW = 256
"""Rows that are cheaper to read at once than to search one by one."""


class KeptLink(msgspec.Struct, frozen=True, array_like=True):
    """An incoming link, stored with its target."""

    source: int
    is_inner: bool
    text: str


class Target(msgspec.Struct, frozen=True):
    count: int = 0
    anchors: tuple[KeptLink, ...] = ()
    """At most MOST_ANCHORS: other hosts first, then by the sources' ids, which is as good as random."""


class Columns(NamedTuple):
    """The changes of one page, by column: a page has about 40 rows."""

    targets: "array[int]"
    kinds: bytes
    texts: list[str]


def pointing(source: Url, links: Sequence[Link]) -> Columns:
    """The targets a page endorses, each once, with kind and text. Links to itself and nofollow links do not count."""
    host, own = source.host.name, source.text
    ours = f"http://{host}/", f"https://{host}/"
    found: dict[str, str] = {}
    for link in links:
        target = link.url.text
        if link.may_follow and target != own and not found.get(target):
            found[target] = link.text
    kinds = bytes([INNER if target.startswith(ours) else OUTER for target in found])
    return Columns(ids_of(found), kinds, [text[:LONGEST_TEXT] for text in found.values()])


def changes_between(old: Columns, new: Columns) -> Columns:
    """The changes from `old` to `new`, removals first."""
    was = dict(zip(old.targets, zip(old.kinds, old.texts, strict=True), strict=True))
    now = dict(zip(new.targets, zip(new.kinds, new.texts, strict=True), strict=True))
    removed = [(target, REMOVED, "") for target, link in was.items() if now.get(target) != link]
    added = [(target, *link) for target, link in now.items() if was.get(target) != link]
    rows = removed + added
    return Columns(array("q", [row[0] for row in rows]), bytes([row[1] for row in rows]), [row[2] for row in rows])


def pack(pages: Iterable[tuple[int, Columns]]) -> tuple[int, bytes, bytes]:
    """A run of these pages' changes: their number, the columns, and the texts. REQUIRES: pages in order of their ids,
    so that a stable sort by target is enough.

    Columns: targets and sources (8 bytes each), ends of the texts (4), kinds (1), in the machine's byte order.
    """
    targets, sources, kinds, texts = array("q"), array("q"), bytearray(), list[str]()
    for source, change in pages:
        targets += change.targets
        sources += array("q", (source,)) * len(change.targets)
        kinds += change.kinds
        texts += change.texts
    if not texts:
        return 0, b"", b""
    order = sorted(range(len(texts)), key=targets.__getitem__)
    sorted_of = itemgetter(*order) if len(order) > 1 else tuple  # for a single row itemgetter returns no tuple
    ordered: tuple[str, ...] = sorted_of(texts)
    joined = "".join(ordered)
    encoded = ordered if joined.isascii() else [text.encode("utf-8", "replace") for text in ordered]
    lengths = list(map(len, encoded))
    ends = array("I", accumulate(lengths))
    columns = array("q", sorted_of(targets)), array("q", sorted_of(sources)), ends, bytes(sorted_of(kinds))
    return len(ordered), b"".join(columns), joined.encode("utf-8", "replace")


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
    before = min(start, 1)  # the row before has the start of the first text
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
    links = {anchor.source: anchor for anchor in target.anchors}
    for _, source, kind, text in changes:
        if kind == REMOVED:
            count -= 1
            links.pop(source, None)
        else:
            count += 1
            links[source] = KeptLink(source, kind == INNER, text)
    ranked = sorted(links.values(), key=_rank)
    return Target(count, tuple(ranked[:MOST_ANCHORS]))


def _first_row(count: int, read: Read, target: int) -> int:
    """Interpolation search: targets are hashes, spread evenly, so a few guesses do where bisection takes twenty steps.
    Every third step bisects, in case an attacker has skewed the distribution."""
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


def _rank(anchor: KeptLink) -> tuple[bool, int]:
    return anchor.is_inner, anchor.source
