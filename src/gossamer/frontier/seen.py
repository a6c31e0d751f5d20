"""Addresses met lately: a small, fixed table in front of the database.

A link that is found here costs one look and no database. A link that is not found may still be known: the merge
finds out. So forgetting is harmless, and the table simply overwrites: one slot a hash, the latest wins.
"""

from array import array
from collections.abc import Callable, Iterable

from gossamer.frontier.rows import text_of
from gossamer.values.link import Offer


class SeenTable:
    """REQUIRES: `slots` is a power of two. Eight bytes a slot.

    Marks are Python's own string hashes: 64 bits, keyed at random for each process, so nobody can write an
    address that passes for another. Two addresses share a mark by accident once in 2^64 pairs.
    """

    def __init__(self, slots: int = 1 << 20) -> None:
        if slots < 1 or slots & (slots - 1):
            raise ValueError(f"a table of {slots} slots: it must be a power of two")
        self._mask = slots - 1
        self._marks = array("q", bytes(8 * slots))

    def sift(
        self,
        offers: Iterable[Offer],
        may_enter: Callable[[Offer], bool],
        source: str | None = None,
        met: set[int] | None = None,
        nods: list[Offer] | None = None,
    ) -> tuple[list[Offer], set[int]]:
        """The offers not met lately that may enter, and the marks to `remember` once they are safely on disk.

        A refusal is remembered with its depth, for a limit of depth may let the same address in from nearer.
        `source` is the host the offers were met on, `met` holds marks of offers sifted just before. A link to a page
        of another host that was met before is added to `nods`, once for each host that has it: such links count.
        """
        marks, mask = self._marks, self._mask
        home = ("\0",) if source is None else (text_of(1, source, ""), text_of(0, source, ""))
        fresh: list[Offer] = []
        met = set() if met is None else met
        for offer in offers:
            text = offer.url.text
            mark = hash(text)
            if marks[mark & mask] == mark or mark in met:
                if nods is None or text.startswith(home):
                    continue
                mark = hash((text, source))
                if marks[mark & mask] != mark and mark not in met:
                    met.add(mark)
                    nods.append(offer)
                continue
            refusal = hash((text, offer.depth))
            if marks[refusal & mask] == refusal or refusal in met:
                continue
            if may_enter(offer):
                fresh.append(offer)
                met.add(mark)
                if source is not None and not text.startswith(home):
                    met.add(hash((text, source)))
            else:
                met.add(refusal)
        return fresh, met

    def unmeet(self, offers: Iterable[Offer], met: set[int]) -> None:
        """Take the marks of these back that `sift` has added just now."""
        met.difference_update([hash(offer.url.text) for offer in offers])

    def remember(self, met: Iterable[int]) -> None:
        marks, mask = self._marks, self._mask
        for mark in met:
            marks[mark & mask] = mark
