"""Several URLs for one page: mirror hosts, URL parts without effect, wildcard domains."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gossamer.rules.learned.signs import Sketch, SketchKept, batches, in_parts, put_last
from gossamer.rules.learned.traps import TemplateRun, after, is_trap, kind_of
from gossamer.rules.scope import domain_of
from gossamer.values.messages import Marks
from gossamer.values.outcome import ALLOWED, Allowed, Denied
from gossamer.values.robots import RobotsRule
from gossamer.values.url import Url, id_of

FIRST = 64
"""Pages per host that are compared."""
ENOUGH = 16
"""Pages that two hosts must have in common before one is a mirror of the other ..."""
SHARE = 0.75
"""... and their share of the pages compared on the smaller side."""
LARGER = 2.0
"""A host that links to this many times as many pages of its own as the other is not its mirror."""
MISSES = 0.25
"""A host where this share of the fetches (and more than a few) finds no page is not an original."""
FEW_MISSES = 8
_SKETCH = 16
_MOST_FIRST_PAGES = 100_000
_MOST_HOSTS = 30_000


class Evidence(msgspec.Struct, frozen=True):
    """Other signs of which host is the original."""

    is_seed: bool = False
    """The user named it."""
    canonical: str = ""
    """The host of the page's canonical link."""
    robots: tuple[RobotsRule, ...] = ()
    """The rules of its robots.txt for us."""


NO_EVIDENCE = Evidence()


class Mirror(msgspec.Struct, frozen=True):
    """A host to be retired, and why."""

    host: str
    of: str
    common: int
    looked_at: int
    why: str

    def in_words(self) -> str:
        pages = f"{self.common} of the {self.looked_at} pages compared are the same, at the same paths"
        return f"a mirror of {self.of}: {pages}; {self.why}"


@dataclass(slots=True)
class _Host:
    looked_at: int = 0
    misses: int = 0
    is_seed: bool = False
    robots: int = 0
    """A hash of the rules of its robots.txt."""
    named: Counter[str] = field(default_factory=Counter)
    """Hosts that its pages name as canonical, including itself and none."""
    shared: Counter[str] = field(default_factory=Counter)
    """Pages that were seen on another host before."""
    own_links: list[int] = field(default_factory=list)
    """The smallest ids of its own pages that it links to: enough to estimate their number."""

    def size(self) -> float:
        """The number of its own pages that it links to, to within a quarter."""
        if len(self.own_links) < _SKETCH:
            return len(self.own_links)
        return (_SKETCH - 1) * float(1 << 64) / max(1, self.own_links[-1])

    def note_links(self, start: str, links: Sequence[str]) -> None:
        """Links to its own pages, which begin with `start`."""
        own = {id_of(text[len(start) :]) & ((1 << 64) - 1) for text in links if text.startswith(start)}
        if own:
            self.own_links = sorted(own.union(self.own_links))[:_SKETCH]

    def names(self, other: str) -> bool:
        """Whether most of its pages declare to be copies of the other host's."""
        return self.named[other] > self.looked_at / 2

    def has_gaps(self) -> bool:
        return self.misses > FEW_MISSES and self.misses > MISSES * (self.looked_at + self.misses)


class Mirrors:
    """Hosts with the same texts at the same paths as another: they are crawled once.

    Equal pages alone do not tell a mirror from its original, nor an original from a faster copy of some of its pages.
    The host is given up whose pages name the other as canonical, or that has less of its own: it links to fewer pages,
    or to missing ones, or the user did not name it; otherwise the one seen later. Hosts with different robots.txt rules
    are two sites, unless the pages of one name the other. The verdict is stored with the host (`Frontier.retire`): the
    original's pages are not fetched again, so it cannot be learned twice.
    """

    def __init__(self) -> None:
        self._first: dict[int, str] = {}
        self._hosts: dict[str, _Host] = {}
        self._given_up: dict[frozenset[str], None] = {}

    def learn(
        self, url: Url, exact: bytes, links: Sequence[str] = (), evidence: Evidence = NO_EVIDENCE
    ) -> Mirror | None:
        """The host to be retired, once that is clear: this page's, or one that turns out to be its mirror.

        `exact`: the fingerprint of the page's text; `links`: its links.
        """
        name = url.host.name
        if (host := self._hosts.get(name)) is None:
            put_last(self._hosts, name, host := _Host(), _MOST_HOSTS)
        host.is_seed = host.is_seed or evidence.is_seed
        if host.looked_at >= FIRST or not exact:
            return None
        if not host.looked_at:
            host.robots = hash(tuple((rule.allows, rule.pattern) for rule in evidence.robots))
        host.looked_at += 1
        host.named[evidence.canonical] += 1
        host.note_links(url.origin + "/", links)
        key = id_of(f"{url.target} {exact.hex()}")
        if (first := self._first.get(key)) is None:
            put_last(self._first, key, first := name, _MOST_FIRST_PAGES)
        if first == name or first not in self._hosts:
            return None
        host.shared[first] += 1
        return self._judged(name, first)

    def missed(self, url: Url) -> None:
        """There is no page at this URL, although it is linked."""
        host = self._hosts.get(url.host.name)
        if host is not None:
            host.misses += 1

    def _judged(self, name: str, other: str) -> Mirror | None:
        pair = frozenset((name, other))
        one, two = self._hosts[name], self._hosts[other]
        common = one.shared[other] + two.shared[name]
        if pair in self._given_up or common < ENOUGH or common < SHARE * min(one.looked_at, two.looked_at):
            return None
        kept, given_up, why = (other, name, "it was seen later")
        if one.robots != two.robots and not one.names(other) and not two.names(name):
            return None  # two sites
        if (found := _original(one, two, is_named=(two.names(name), one.names(other)))) is not None:
            is_one, why = found
            kept, given_up = (name, other) if is_one else (other, name)
        elif common < SHARE * max(one.looked_at, two.looked_at):
            return None  # either may have pages of its own: wait for more
        if common < SHARE * self._hosts[given_up].looked_at:
            return None  # it has pages of its own
        put_last(self._given_up, pair, None, _MOST_HOSTS)
        return Mirror(given_up, kept, common, self._hosts[given_up].looked_at, why)


def _original(one: _Host, two: _Host, is_named: tuple[bool, bool]) -> tuple[bool, str] | None:
    """Whether the first is the original, and why the other is not; None if nothing decides.

    `is_named`: whether the pages of the other host name it as canonical.
    """
    if one.is_seed != two.is_seed:
        return one.is_seed, "the other host was named as a seed"
    if is_named[0] != is_named[1]:
        return is_named[0], "its own pages name the other host as canonical"
    if one.has_gaps() != two.has_gaps():
        return two.has_gaps(), "it links to many pages that it does not have"
    larger = one.size() > two.size()
    if max(one.size(), two.size()) >= LARGER * min(one.size(), two.size()) + ENOUGH:
        return larger, "it links to far fewer pages of its own"
    return None


AGREED = 6
MOST_DOUBT = 10
"""A part is void if it changed nothing at least six times, and ten times as often as it changed something."""
MOST_PARTS = 8
TRIED = 64
_SIGNS = 4
_SAME, _OTHER = 3, 1
_MOST_PAGES = 50_000
_MOST_PARTS_KNOWN = 20_000
_CODES = frozenset(("{hex}", "{uuid}", "{random}", "{other}"))


class UrlPart(NamedTuple):
    """A part of a URL, and the URL without it."""

    name: str
    value: str
    rest: str


class VoidPagesKept(msgspec.Struct, frozen=True, array_like=True, tag=6):
    rows: tuple[tuple[int, tuple[str, tuple[int, ...]]], ...]


class EvidenceKept(msgspec.Struct, frozen=True, array_like=True, tag=7):
    rows: tuple[tuple[tuple[int, str], tuple[int, int]], ...]


class VoidParameters:
    """Parts of URLs that have no effect on the page, learned from pages that stay the same when they differ."""

    def __init__(self) -> None:
        self._pages: dict[int, tuple[str, tuple[int, ...]]] = {}
        """By URL without one part: the part's value at the first visit, and a few hashes of the text."""
        self._evidence: dict[tuple[int, str], tuple[int, int]] = {}
        """By host and part: how often another value changed nothing, and how often it changed something."""
        self._void: dict[int, frozenset[str]] = {}

    def learn(self, url: Url, marks: Marks) -> None:
        """Learn from a fetched page. REQUIRES: it is not an error page, which is the same at every URL."""
        signs = marks.shingles[:_SIGNS]
        if len(signs) < _SIGNS:
            return
        host_id = url.host.id
        for part in parts_of(url):
            key = _key(host_id, part)
            known = self._pages.get(key)
            if known is None:
                put_last(self._pages, key, (part.value, signs), _MOST_PAGES)
            elif known[0] != part.value:
                self._compare(host_id, part.name, sum(map(int.__eq__, known[1], signs)))

    def _compare(self, host_id: int, name: str, equal: int) -> None:
        agreed, differed = self._evidence.get((host_id, name), (0, 0))
        agreed, differed = agreed + (equal >= _SAME), differed + (equal <= _OTHER)
        put_last(self._evidence, (host_id, name), (agreed, differed), _MOST_PARTS_KNOWN)
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
        """Everything, to be stored. Read-only, so another thread may call it."""
        return in_parts({VoidPagesKept: self._pages, EvidenceKept: self._evidence})

    def recall(self, part: VoidPagesKept | EvidenceKept) -> None:
        match part:
            case VoidPagesKept(rows=pages):
                self._pages.update(pages)
            case EvidenceKept(rows=evidence):
                self._evidence.update(evidence)
                for (host_id, name), (agreed, differed) in evidence:
                    self._judge(host_id, name, agreed, differed)

    def copy_of(self, url: Url) -> str | None:
        """Why this URL is a copy of a page fetched before, in words; None if it is not, or is to be tried."""
        void = self._void.get(url.host.id) if self._void else None
        if not void or url.id % TRIED == 0:
            return None
        for part in parts_of(url):
            if part.name in void:
                known = self._pages.get(_key(url.host.id, part))
                if known is not None and known[0] != part.value:
                    effect = f"{part.name} has no effect on this host"
                    return f"a copy: {effect}, and {part.rest} was fetched with another value"
        return None


def _key(host_id: int, part: UrlPart) -> int:
    return id_of(f"{host_id} {part.name} {part.rest}")


def parts_of(url: Url) -> Iterator[UrlPart]:
    """Every parameter, every path segment that looks like a code, and all code-like parts together."""
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


MOST_DOMAINS = 10_000
MOST_HOSTS = 1_000
_NO_RUN = TemplateRun()


DomainRow = tuple[str, SketchKept, tuple[str, ...], tuple[str, ...], TemplateRun]
"""Name, the sketch of its hosts' first pages, hosts seen, hosts with new content, and their state."""


class DomainsKept(msgspec.Struct, frozen=True, array_like=True, tag=8):
    rows: tuple[DomainRow, ...]


class WildcardDomains:
    """Domains that answer for any name below them: endless, although every host is small.

    The first page of each host counts: whether it has anything that hosts of the same domain have not shown.
    """

    def __init__(self) -> None:
        self._domains: dict[str, _Domain] = {}

    def learn(self, url: Url, marks: Marks, is_seed: bool = False) -> None:
        """Learn from a fetched page. `is_seed`: the user named it, so its host is accepted."""
        name = url.hostname
        domain = domain_of(name)
        known = self._domains.get(domain) or _Domain()
        put_last(self._domains, domain, known, MOST_DOMAINS)
        known.learn(name, marks, is_seed)

    def kept(self) -> Iterator[DomainsKept]:
        """Everything, to be stored. Read-only, so another thread may call it."""
        for batch in batches(list(self._domains.items())):
            yield DomainsKept(tuple([domain.kept(name) for name, domain in batch]))

    def recall(self, part: DomainsKept) -> None:
        self._domains.update((row[0], _Domain.of(row)) for row in part.rows)

    def judge(self, url: Url) -> Allowed | Denied:
        """Whether such a host may be visited. Hosts that brought something stay allowed."""
        if not self._domains:
            return ALLOWED
        name = url.hostname
        domain = domain_of(name)
        known = self._domains.get(domain)
        if known is None or not is_trap(known.run) or name == domain or name in known.good:
            return ALLOWED
        return Denied(
            f"hosts under {domain} are endless: {known.run.new:,} of {known.run.fetched:,} brought anything new"
        )


class _Domain:
    __slots__ = ("_seen", "_sketch", "good", "run")

    def __init__(self) -> None:
        self._sketch = Sketch(is_folded=True)
        self._seen: set[str] = set()
        self.good: set[str] = set()
        self.run = _NO_RUN

    def kept(self, name: str) -> DomainRow:
        return name, self._sketch.kept(), tuple(sorted(self._seen.copy())), tuple(sorted(self.good.copy())), self.run

    @classmethod
    def of(cls, row: DomainRow) -> "_Domain":
        domain = cls()
        domain._sketch, domain.run = Sketch.of(row[1]), row[4]
        domain._seen, domain.good = set(row[2]), set(row[3])
        return domain

    def learn(self, name: str, marks: Marks, is_seed: bool) -> None:
        if is_seed and len(self.good) < MOST_HOSTS:
            self.good.add(name)
        if name in self._seen or name in self.good:
            return
        if len(self._seen) < MOST_HOSTS:
            self._seen.add(name)
        new = self._sketch.add(marks)
        self.run = after(self.run, new.text or new.facts)
        if (new.text or new.facts) and len(self.good) < MOST_HOSTS:
            self.good.add(name)
