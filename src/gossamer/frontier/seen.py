"""Which offered URLs may enter.

Not those seen before, excluded by a rule, or listed by a sitemap of another host. No IO.

Sitemaps count for another host only as far as the robots.txt of that host names them.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from gossamer.frontier.api import KnownState
from gossamer.frontier.rows import text_of
from gossamer.values.link import How, Offer
from gossamer.values.robots import Robots
from gossamer.values.url import Url, url_of
from gossamer.values.visit import Settled


class SeenTable:
    """URLs seen recently: a small table of fixed size in front of the database. REQUIRES: `slots` is a power of two.

    A URL found here costs one lookup and no database access. One that is not found may still be known: the merge finds
    out. So forgetting is harmless, and the table simply overwrites: one slot of eight bytes a hash, the latest wins.
    Marks are Python's own string hashes: 64 bits, keyed at random for each process, so that no page can contain a URL
    made to match another. Two URLs share a mark by accident once in 2^64 pairs.
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
        seen: set[int] | None = None,
        repeats: list[Offer] | None = None,
    ) -> tuple[list[Offer], set[int]]:
        """The offers not seen recently that may enter, and the marks to `remember` once they are safely on disk.

        A refusal is remembered with its depth, for a limit of depth may accept the same URL from nearer. `source` is
        the host the offers were found on, `seen` holds marks of offers sifted just before. A link to a page of another
        host that was seen before is added to `repeats`, once for each host that has it: such links count.
        """
        marks, mask = self._marks, self._mask
        home = ("\0",) if source is None else (text_of(1, source, ""), text_of(0, source, ""))
        fresh: list[Offer] = []
        seen = set() if seen is None else seen
        for offer in offers:
            text = offer.url.text
            mark = hash(text)
            if marks[mark & mask] == mark or mark in seen:
                if repeats is None or text.startswith(home):
                    continue
                mark = hash((text, source))
                if marks[mark & mask] != mark and mark not in seen:
                    seen.add(mark)
                    repeats.append(offer)
                continue
            refusal = hash((text, offer.depth))
            if marks[refusal & mask] == refusal or refusal in seen:
                continue
            if may_enter(offer):
                fresh.append(offer)
                seen.add(mark)
                if source is not None and not text.startswith(home):
                    seen.add(hash((text, source)))
            else:
                seen.add(refusal)
        return fresh, seen

    def remember(self, seen: Iterable[int]) -> None:
        marks, mask = self._marks, self._mask
        for mark in seen:
            marks[mark & mask] = mark


MOST_READ_AGAIN = 20
"""Sitemaps that one robots.txt can have read again."""


def newly_named(settled: Settled) -> list[Url]:
    """Sitemaps that a robots.txt names for the first time: what they said about this host did not count before."""
    return sitemaps_of(settled.robots, without=settled.visit.robots)


def sitemaps_of(robots: Robots | None, without: Robots | None = None) -> list[Url]:
    """Sitemaps that a robots.txt names, and the other one does not. They may have been read when the crawl did not
    reach as far as it does now."""
    before = without.sitemaps if without is not None else ()
    urls = [url_of(text) for text in robots.sitemaps if text not in before] if robots is not None else []
    return [url for url in urls if url is not None][:MOST_READ_AGAIN]


def authorized(
    offers: Sequence[Offer],
    entry_of: Callable[[Url], Robots | None],
    known_as: Callable[[Url], KnownState | None],
    seen: set[int],
) -> list[Offer]:
    """Offers of a URL's own host, and those whose sitemap the robots.txt of their own origin names.

    (The sitemap protocol, "Sitemaps & Cross Submits".) Naming a sitemap index authorizes the sitemaps that it names.
    The marks of the others are taken out of `seen`: while that robots.txt is unknown nothing is authorized, and when it
    is read the sitemap is read again.
    """

    @cache
    def is_named(via: Url, root: Url) -> bool:
        robots = entry_of(root)
        if robots is None:
            return False
        if via.text in robots.sitemaps or via in (named := {url_of(text) for text in robots.sitemaps}):
            return True
        found = known_as(via) if named else None
        return found is not None and found.how is How.MAP and found.source in named

    good = [
        one for one in offers if one.via is None or one.via.host == one.url.host or is_named(one.via, one.url.robots)
    ]
    if len(good) < len(offers):
        seen.difference_update([hash(offer.url.text) for offer in set(offers) - set(good)])
    return good
