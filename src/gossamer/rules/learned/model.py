"""Everything that is learned about hosts from their pages, behind one interface.

`learn` is given every page once, after reading; `judge_offer` and `judge_visit` are called when a URL is offered and
when it is taken. Nothing here requests anything.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from gossamer.rules.learned.aliases import NO_EVIDENCE, Evidence, Mirror, Mirrors, VoidParameters, WildcardDomains
from gossamer.rules.learned.novelty import Novelty
from gossamer.rules.learned.sketch import (
    DomainsKept,
    ErrorsKept,
    EvidenceKept,
    HostsKept,
    LinksKept,
    Part,
    StartsKept,
    TextsKept,
    VoidPagesKept,
    YoungKept,
)
from gossamer.rules.learned.soft404 import SHORT, ErrorPages
from gossamer.rules.learned.traps import judge_shape
from gossamer.values.messages import Marks, NotFoundClaim
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Url
from gossamer.values.visit import Yield


class Learned(msgspec.Struct, frozen=True):
    """What was learned from one page."""

    yielded: Yield | None
    no_page: str = ""
    """Why it is an error page, in words; empty if it is not."""
    mirror: Mirror | None = None
    """A host that has just been recognised as a mirror and is to be retired."""


class LearnedHosts:
    """One per crawler; `most_bytes` bounds the sketches, the rest is bounded by count (some 40 MB)."""

    def __init__(self, most_bytes: int = 64 << 20, key: int = 0) -> None:
        """`key` is random: see `Novelty`."""
        self._novelty = Novelty(most_bytes, key=key)
        self._errors = ErrorPages()
        self._voids = VoidParameters()
        self._farms = WildcardDomains()
        self._mirrors = Mirrors()
        self.pages = 0
        """Pages learned from since it was created."""

    def learn(
        self,
        url: Url,
        marks: Marks,
        exact: bytes,
        says: NotFoundClaim = NotFoundClaim.NOTHING,
        links: Sequence[str] = (),
        evidence: Evidence = NO_EVIDENCE,
    ) -> Learned:
        """`exact` is the page's fingerprint, `links` its links."""
        self.pages += 1
        no_page = self._errors.judge(url, marks, says) or ""
        yielded = self._novelty.weigh(url, marks, links, bool(no_page))
        if not no_page and (marks.words <= SHORT or not yielded.is_fruitful):
            no_page = self._errors.judge_again(url, yielded.template, marks, says) or ""
        if no_page:
            return Learned(yielded, no_page)
        self._voids.learn(url, marks)
        self._farms.learn(url, marks, evidence.is_seed)
        return Learned(yielded, mirror=self._mirrors.learn(url, exact, links, evidence))

    def missed(self, url: Url) -> None:
        """The host says that there is no such page."""
        self._mirrors.missed(url)

    def judge_offer(self, url: Url) -> Allowed | Denied:
        """Whether a URL may enter, as far as its shape and domain are concerned. Called for every new link."""
        shape = judge_shape(url)
        return self._farms.judge(url) if isinstance(shape, Allowed) else shape

    def judge_visit(self, url: Url) -> Allowed | Denied:
        """Whether a URL that was taken may be fetched: no, if it is known to be a copy by now."""
        copy = self._voids.copy_of(url)
        return Denied(copy) if copy else self._farms.judge(url)

    def is_trap(self, host: str, template: str, fetched: int, fruitful: int) -> bool:
        """Whether a template's waiting URLs belong in quarantine, by its totals on disk and its latest pages."""
        return self._novelty.is_trap(host, template, fetched, fruitful)

    def kept(self) -> Iterator[Part]:
        """What was learned, in parts to be stored. Read-only, so another thread may call it. Without mirrors: a host
        that was retired as one and reinstated by the user would be retired again."""
        return chain(self._novelty.kept(), self._errors.kept(), self._voids.kept(), self._farms.kept())

    def recall(self, part: Part) -> None:
        """Restore the parts that `kept` returned, in order. REQUIRES: nothing was learned yet. Raises ValueError for
        invalid parts."""
        match part:
            case LinksKept() | YoungKept() | HostsKept():
                self._novelty.recall(part)
            case ErrorsKept() | StartsKept() | TextsKept():
                self._errors.recall(part)
            case VoidPagesKept() | EvidenceKept():
                self._voids.recall(part)
            case DomainsKept():
                self._farms.recall(part)
