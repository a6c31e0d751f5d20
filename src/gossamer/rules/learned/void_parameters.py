"""Parts of addresses that choose nothing: session ids and the like under names that nobody knows beforehand.

When pages at addresses that differ in one parameter only are the same again and again, that parameter is void on that
host. Addresses that differ in void parts only are then one page, and those met later are copies of the first. One copy
in sixty-four is fetched all the same, so that a host which begins to mean something by the parameter is found out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gossamer.rules.learned.snapshot import EvidenceKept, VoidPagesKept, batches
from gossamer.rules.learned.templates import kind_of
from gossamer.values.messages import Marks
from gossamer.values.url import Url, id_of

AGREED = 6
MOST_DOUBT = 10
"""Void is what changed nothing at least six times, and ten times as often as it changed something."""
MOST_PARTS = 8
TRIED = 64
_SIGNS = 4
_SAME, _OTHER = 3, 1
_MOST_PAGES = 50_000
_MOST_PARTS_KNOWN = 20_000
_CODES = frozenset(("{hex}", "{uuid}", "{random}", "{other}"))


class UrlPart(NamedTuple):
    """A part of an address, and the address without it."""

    name: str
    value: str
    rest: str


class Voids:
    def __init__(self) -> None:
        self._pages: dict[int, tuple[str, tuple[int, ...]]] = {}
        """Of addresses without one part: the part's value at the first visit, and a few numbers of the text met."""
        self._evidence: dict[tuple[int, str], tuple[int, int]] = {}
        """By host and part: how often another value changed nothing, and how often it did."""
        self._void: dict[int, frozenset[str]] = {}

    def learn(self, url: Url, marks: Marks) -> None:
        """A page that was fetched; REQUIRES: it is no error page, for those are alike at every address."""
        signs = marks.shingles[:_SIGNS]
        if len(signs) < _SIGNS:
            return
        host_id = url.host.id
        for part in parts_of(url):
            key = _key(host_id, part)
            known = self._pages.get(key)
            if known is None:
                self._pages[key] = (part.value, signs)
            elif known[0] != part.value:
                self._compare(host_id, part.name, sum(map(int.__eq__, known[1], signs)))
        while len(self._pages) > _MOST_PAGES:
            del self._pages[next(iter(self._pages))]

    def _compare(self, host_id: int, name: str, equal: int) -> None:
        agreed, differed = self._evidence.pop((host_id, name), (0, 0))
        agreed, differed = agreed + (equal >= _SAME), differed + (equal <= _OTHER)
        self._evidence[host_id, name] = (agreed, differed)
        if len(self._evidence) > _MOST_PARTS_KNOWN:
            del self._evidence[next(iter(self._evidence))]
        self._judge(host_id, name, agreed, differed)

    def _judge(self, host_id: int, name: str, agreed: int, differed: int) -> None:
        void = self._void.get(host_id, frozenset()) - {name}
        if agreed >= AGREED and differed * MOST_DOUBT <= agreed:
            void |= {name}
        if void:
            self._void[host_id] = void
        else:
            self._void.pop(host_id, None)

    def kept(self) -> Iterator[VoidPagesKept | EvidenceKept]:
        """All of it, to be written down; only looks, so that another thread may ask."""
        for pages in batches(list(self._pages.items())):
            yield VoidPagesKept(pages)
        for evidence in batches(list(self._evidence.items())):
            yield EvidenceKept(evidence)

    def recall(self, part: VoidPagesKept | EvidenceKept) -> None:
        match part:
            case VoidPagesKept(rows=pages):
                self._pages.update(pages)
            case EvidenceKept(rows=evidence):
                self._evidence.update(evidence)
                for (host_id, name), (agreed, differed) in evidence:
                    self._judge(host_id, name, agreed, differed)

    def copy_of(self, url: Url) -> str | None:
        """In words why this address is a copy of a page fetched before; None when it is none, or is to be tried."""
        void = self._void.get(url.host.id) if self._void else None
        if not void or url.id % TRIED == 0:
            return None
        for part in parts_of(url):
            if part.name in void:
                known = self._pages.get(_key(url.host.id, part))
                if known is not None and known[0] != part.value:
                    return f"a copy: {part.name} changes nothing on this host, and {part.rest} was fetched with another"
        return None


def _key(host_id: int, part: UrlPart) -> int:
    return id_of(f"{host_id} {part.name} {part.rest}")


def parts_of(url: Url) -> Iterator[UrlPart]:
    """Every parameter, every segment of the path that looks like a code, and all that look like codes together."""
    path, _, query = url.target.partition("?")
    pairs = query.split("&") if query else []
    segments = path.split("/")
    if len(pairs) > MOST_PARTS or len(segments) > 2 * MOST_PARTS:
        return
    codes = []
    for at, pair in enumerate(pairs):
        name, _, value = pair.partition("=")
        yield UrlPart(f"the parameter {name!r}", value, _joined(path, pairs[:at] + pairs[at + 1 :]))
        if kind_of(value) in _CODES:
            codes.append(at)
    for at, segment in enumerate(segments):
        if len(segment) >= 6 and kind_of(segment) in _CODES:
            yield UrlPart(
                f"part {at} of the path", segment, _joined("/".join(segments[:at] + segments[at + 1 :]), pairs)
            )
    if len(codes) > 1:
        plain = [pair for at, pair in enumerate(pairs) if at not in codes]
        names = " and ".join([repr(pairs[at].partition("=")[0]) for at in codes])
        yield UrlPart(f"the parameters {names} together", str([pairs[at] for at in codes]), _joined(path, plain))


def _joined(path: str, pairs: list[str]) -> str:
    return f"{path}?{'&'.join(pairs)}" if pairs else path
