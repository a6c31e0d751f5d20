"""Hosts that are another host under a second name: the same texts at the same paths. They are crawled once.

Equal pages alone do not tell a mirror from its original, nor an original from somebody who copied some of its pages and
answers faster. The one that is given up is the one whose pages name the other host as their canonical one, or that has
less of its own: it links to fewer pages, or to pages that it does not have, or the user did not name it. Where both are
the same in all of that, it is the one seen later. Hosts with different rules in robots.txt are two sites: neither is
given up unless its own pages name the other.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from gossamer.values.robots import RobotsRule
from gossamer.values.url import Url, id_of

FIRST = 64
"""Pages of a host that are looked at."""
ENOUGH = 16
"""Pages that two hosts have in common before one is called the other's mirror..."""
SHARE = 0.75
"""...and the share of those looked at on the smaller side that they make up."""
LARGER = 2.0
"""A host that links to so many times as many pages of its own as the other is no mirror of it."""
MISSES = 0.25
"""A host where this share of the visits finds no page, and they are more than a few, is nobody's original."""
FEW_MISSES = 8
_SKETCH = 16
_MOST_PAGES = 100_000
_MOST_HOSTS = 30_000


class Evidence(msgspec.Struct, frozen=True):
    """What else tells whose a page is."""

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
        pages = f"{self.common} of the {self.looked_at} pages looked at are the same, at the same paths"
        return f"a mirror of {self.of}: {pages}; {self.why}"


@dataclass(slots=True)
class _Host:
    looked_at: int = 0
    misses: int = 0
    is_seed: bool = False
    robots: int = 0
    """A hash of the rules of its robots.txt."""
    named: Counter[str] = field(default_factory=Counter)
    """Hosts that its pages name as their canonical one, itself and none among them."""
    shared: Counter[str] = field(default_factory=Counter)
    """Pages that were seen on another host before."""
    ways: list[int] = field(default_factory=list)
    """The smallest ids of the pages of its own that it links to: enough to say how many there are."""

    def size(self) -> float:
        """How many pages of its own it links to, within a quarter."""
        if len(self.ways) < _SKETCH:
            return len(self.ways)
        return (_SKETCH - 1) * float(1 << 64) / max(1, self.ways[-1])

    def names(self, other: str) -> bool:
        """Most of its pages say that they are copies of the other host's."""
        return self.named[other] > self.looked_at / 2

    def has_gaps(self) -> bool:
        return self.misses > FEW_MISSES and self.misses > MISSES * (self.looked_at + self.misses)


class Mirrors:
    """Which host a page was first seen on, for the first pages of every host.

    The verdict belongs on disk, with the host (`Frontier.retire`): the pages of the original are not fetched again, so
    what is lost of this cannot be learned twice.
    """

    def __init__(self) -> None:
        self._first: dict[int, str] = {}
        self._hosts: dict[str, _Host] = {}
        self._given_up: set[frozenset[str]] = set()

    def learn(
        self, url: Url, exact: bytes, links: Sequence[str] = (), evidence: Evidence = NO_EVIDENCE
    ) -> Mirror | None:
        """The host to be retired, as soon as that is plain: this page's, or the one that turns out to be its mirror.

        `exact`: the fingerprint of the page's text; `links`: where it leads to.
        """
        name = url.host.name
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host()
        host.is_seed = host.is_seed or evidence.is_seed
        if host.looked_at >= FIRST or not exact:
            return None
        if not host.looked_at:
            host.robots = hash(tuple((rule.allows, rule.pattern) for rule in evidence.robots))
        host.looked_at += 1
        host.named[evidence.canonical] += 1
        _note_ways(host, url, links)
        key = id_of(f"{url.target} {exact.hex()}")
        first = self._first.setdefault(key, name)
        self._make_room()
        if first == name or first not in self._hosts:
            return None
        host.shared[first] += 1
        return self._judged(name, first)

    def missed(self, url: Url) -> None:
        """There is no page at this address, though something leads there."""
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
            return None  # either may have pages of its own: see more of them
        if common < SHARE * self._hosts[given_up].looked_at:
            return None  # it has pages of its own
        self._given_up.add(pair)
        return Mirror(given_up, kept, common, self._hosts[given_up].looked_at, why)

    def _make_room(self) -> None:
        while len(self._first) > _MOST_PAGES:
            del self._first[next(iter(self._first))]
        while len(self._hosts) > _MOST_HOSTS:
            del self._hosts[next(iter(self._hosts))]
        while len(self._given_up) > _MOST_HOSTS:
            self._given_up.pop()


def _original(one: _Host, two: _Host, is_named: tuple[bool, bool]) -> tuple[bool, str] | None:
    """Whether the first is the original, and why the other one is not; None where nothing tells.

    `is_named`: whether the pages of the other host name it as their canonical one.
    """
    if one.is_seed != two.is_seed:
        return one.is_seed, "the other host was named as a seed"
    if is_named[0] != is_named[1]:
        return is_named[0], "its own pages name the other host as their canonical one"
    if one.has_gaps() != two.has_gaps():
        return two.has_gaps(), "it links to many pages that it does not have"
    larger = one.size() > two.size()
    if max(one.size(), two.size()) >= LARGER * min(one.size(), two.size()) + ENOUGH:
        return larger, "it links to far fewer pages of its own"
    return None


def _note_ways(host: _Host, url: Url, links: Sequence[str]) -> None:
    start = url.origin + "/"
    fresh = {id_of(text[len(start) :]) & ((1 << 64) - 1) for text in links if text.startswith(start)}
    if fresh:
        host.ways = sorted(fresh.union(host.ways))[:_SKETCH]
