"""Everything that is learned about hosts from their pages, behind one interface.

`learn` is given every page once, after reading; `judge_offer` and `judge_visit` are called when a URL is offered and
when it is taken. Nothing here requests anything.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import msgspec
from xxhash import xxh32_intdigest

from gossamer.rules.learned.aliases import (
    NO_EVIDENCE,
    DomainsKept,
    Evidence,
    EvidenceKept,
    Mirror,
    Mirrors,
    VoidPagesKept,
    VoidParameters,
    WildcardDomains,
)
from gossamer.rules.learned.signs import (
    MOST_ERROR_WORDS,
    ErrorPages,
    ErrorsKept,
    Sketch,
    SketchKept,
    StartsKept,
    TextsKept,
    batches,
    put_last,
)
from gossamer.rules.learned.traps import TemplateRun, after, is_barren, is_trap, judge_shape, template_of
from gossamer.values.messages import Marks, NotFoundClaim
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import Host, Url
from gossamer.values.visit import Yield

# Novelty: whether a page has anything that its host has not shown before.

WATCHED_FROM = 4
"""Pages of a host before it is watched."""
_YOUNG = 1 << 18
_FULL = 0.9
_SPREAD = 0.5
"""The share of memory up to which hosts may use the fast form, which takes about ten times as much."""
_TURNS = 8
_MOST_RUNS = 128
_RUN_BYTES = 300
_HOST_BYTES = 700
_NO_RUN = TemplateRun()


HostRow = tuple[int, int, SketchKept, tuple[tuple[str, TemplateRun], ...]]
"""Host id, when it was last seen, its sketch, and the state of its templates."""


class LinksKept(msgspec.Struct, frozen=True, array_like=True, tag=0):
    key: int
    slots: bytes


class YoungKept(msgspec.Struct, frozen=True, array_like=True, tag=1):
    weighed: int
    young: bytes


class HostsKept(msgspec.Struct, frozen=True, array_like=True, tag=2):
    rows: tuple[HostRow, ...]


class Novelty:
    """One per crawler. It is given each page once, in the order they were fetched."""

    def __init__(self, most_bytes: int = 64 << 20, link_slots: int = 1 << 20, key: int = 0) -> None:
        """`link_slots`: recently seen links to remember, four bytes each; a power of two. `key`: random, so that two
        crawls do not confuse the same URLs."""
        self._most = most_bytes
        self._hosts: dict[int, _Host] = {}
        """The longest unvisited first."""
        self.held_bytes = 0
        self._key = key
        self._links = array("I", bytes(4 * link_slots))
        self._link_mask = link_slots - 1
        self._assessed = 0
        self._young = bytearray(_YOUNG)
        self._young_mask = _YOUNG - 1

    def assess(self, url: Url, marks: Marks, links: Sequence[str] = (), is_error: bool = False) -> Yield:
        """What was new on the page. `links`: its links. `is_error`: it only says that there is no such page."""
        template = template_of(url)
        host = self._host(url.host.id)
        if host is None:
            return Yield(template, not is_error, False)
        fresh = self._fresh(links)
        before = host.size
        if self.held_bytes > self._most * _SPREAD:
            host.sketch.fold()
        new = host.sketch.add(marks)
        is_new = (new.text or new.facts) and not is_error
        is_list = not is_new and not is_error and host.is_list(url, template, fresh)
        host.note(template, is_new, is_list)
        self.held_bytes += host.size - before
        self._make_room()
        return Yield(template, new.text and not is_error, new.facts and not is_error, is_list)

    def is_trap(self, host: str, template: str, fetched: int, fruitful: int) -> bool:
        """Whether the rest of a template is to be quarantined; the totals are those on disk. Read-only, so the
        writing thread may call it."""
        known = self._hosts.get(Host(host).id)
        run = known.runs.get(template, _NO_RUN) if known is not None else _NO_RUN
        return is_trap(run) or (run.debt > 0 and is_barren(fetched, fruitful))

    def _host(self, host_id: int) -> "_Host | None":
        """None: not watched, because few of its pages were seen (as for most hosts) or there is no room."""
        self._assessed += 1
        found = self._hosts.pop(host_id, None)
        if found is None:
            place = host_id & self._young_mask
            if self._young[place] < WATCHED_FROM:
                self._young[place] += 1
                return None
            if not self._has_room():
                return None
            found = _Host()
            self.held_bytes += found.size
        found.seen = self._assessed
        self._hosts[host_id] = found
        return found

    def _has_room(self) -> bool:
        """A newcomer replaces a host that has not been seen for long, or waits: when more hosts take turns than there
        is room for, forgetting the oldest would forget each just before its turn."""
        if self.held_bytes <= self._most * _FULL:
            return True
        oldest = next(iter(self._hosts))
        if self._hosts[oldest].seen + _TURNS * len(self._hosts) > self._assessed:
            return False
        self.held_bytes -= self._hosts.pop(oldest).size
        return True

    def _make_room(self) -> None:
        """Make room for the growth of the watched hosts."""
        while self.held_bytes > self._most and len(self._hosts) > 1:
            self.held_bytes -= self._hosts.pop(next(iter(self._hosts))).size

    def _fresh(self, links: Sequence[str]) -> list[str]:
        """Links not seen recently; from now on they are."""
        slots, mask = self._links, self._link_mask
        coded = "\n".join(links).encode().split(b"\n") if links else []
        marks = list(map(xxh32_intdigest, coded, repeat(self._key)))
        fresh = [at for at, mark in enumerate(marks) if slots[mark & mask] != mark]
        for at in fresh:
            slots[marks[at] & mask] = marks[at]
        return [links[at] for at in fresh]

    def kept(self) -> Iterator[LinksKept | YoungKept | HostsKept]:
        """Everything, to be stored. Read-only, so another thread may call it."""
        yield LinksKept(self._key, self._links.tobytes())
        yield YoungKept(self._assessed, bytes(self._young))
        for batch in batches(list(self._hosts.items())):
            yield HostsKept(tuple([host.kept(host_id) for host_id, host in batch]))

    def recall(self, part: LinksKept | YoungKept | HostsKept) -> None:
        """Restore what `kept` returned, in order. REQUIRES: nothing was weighed yet."""
        match part:
            case LinksKept(key=key, slots=slots) if len(slots) == 4 * len(self._links):
                self._key, self._links = key, array("I", slots)
            case YoungKept(weighed=weighed, young=young) if len(young) == len(self._young):
                self._assessed, self._young = weighed, bytearray(young)
            case HostsKept(rows=rows):
                for row in rows:
                    host = _Host.of(row)
                    if self.held_bytes + host.size <= self._most:
                        self._hosts[row[0]] = host
                        self.held_bytes += host.size


class _Host:
    __slots__ = ("runs", "seen", "sketch")

    def __init__(self) -> None:
        self.seen = 0
        self.sketch = Sketch()
        self.runs: dict[str, TemplateRun] = {}
        """By template, the longest unvisited first."""

    @property
    def size(self) -> int:
        return _HOST_BYTES + self.sketch.size + _RUN_BYTES * len(self.runs)

    def kept(self, host_id: int) -> HostRow:
        return host_id, self.seen, self.sketch.kept(), tuple(self.runs.items())

    @classmethod
    def of(cls, row: HostRow) -> "_Host":
        host = cls()
        host.seen, host.sketch, host.runs = row[1], Sketch.of(row[2]), dict(row[3])
        return host

    def is_list(self, url: Url, template: str, fresh: Iterable[str]) -> bool:
        """Whether one of its new links is of another template that is in good standing: then it is a list."""
        home = f"{url.origin}/"
        well = {kind for kind, run in self.runs.items() if run.is_productive and kind != template}
        return bool(well) and any(link.startswith(home) and template_of(Url(link)) in well for link in fresh)

    def note(self, template: str, is_new: bool, is_list: bool) -> None:
        put_last(self.runs, template, after(self.runs.get(template, _NO_RUN), is_new, is_list), _MOST_RUNS)


class Learned(msgspec.Struct, frozen=True):
    """What was learned from one page."""

    yielded: Yield | None
    no_page: str = ""
    """Why it is an error page, in words; empty if it is not."""
    mirror: Mirror | None = None
    """A host that has just been recognised as a mirror and is to be retired."""


Part = (
    LinksKept | YoungKept | HostsKept | ErrorsKept | StartsKept | TextsKept | VoidPagesKept | EvidenceKept | DomainsKept
)


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
        yielded = self._novelty.assess(url, marks, links, bool(no_page))
        if not no_page and (marks.words <= MOST_ERROR_WORDS or not yielded.is_fruitful):
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
