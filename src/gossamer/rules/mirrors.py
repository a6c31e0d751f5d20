"""Hosts that are another host under a second name: the same texts at the same paths. They are crawled once."""

from collections import Counter

from gossamer.values.url import Url, id_of

FIRST = 64
"""Pages of a host that are looked at."""
ENOUGH = 16
"""Pages that two hosts have in common before one is called the other's mirror..."""
SHARE = 0.75
"""...and the share of those looked at on the smaller side that they make up."""
_MOST_PAGES = 100_000
_MOST_HOSTS = 100_000


class Mirrors:
    """Which host a page was first met on, for the first pages of every host.

    The verdict belongs on disk, with the host (`Frontier.retire`): the pages of the original are not fetched again, so
    what is lost of this cannot be learned twice.
    """

    def __init__(self) -> None:
        self._first: dict[int, str] = {}
        self._looked_at: dict[str, int] = {}
        self._shared: dict[str, Counter[str]] = {}
        self._mirrors: dict[str, str] = {}

    def learn(self, url: Url, exact: bytes) -> str | None:
        """The host that this page's host mirrors, as soon as that is plain. `exact`: the fingerprint of its text."""
        name = url.host.name
        looked_at = self._looked_at.get(name, 0)
        if looked_at >= FIRST or not exact:
            return None
        self._looked_at[name] = looked_at + 1
        key = id_of(f"{url.target} {exact.hex()}")
        first = self._first.setdefault(key, name)
        self._make_room()
        if first == name or self._mirrors.get(first) == name:
            return None  # of two mirrors the one is kept that was not given up first
        shared = self._shared.setdefault(name, Counter())
        shared[first] += 1
        if not self._is_mirror(name, first):
            return None
        self._mirrors[name] = first
        return first

    def _is_mirror(self, name: str, of: str) -> bool:
        common = self._shared[name][of] + self._shared.get(of, Counter())[name]
        return common >= ENOUGH and common >= SHARE * min(self._looked_at[name], self._looked_at.get(of, 0))

    def _make_room(self) -> None:
        while len(self._first) > _MOST_PAGES:
            del self._first[next(iter(self._first))]
        while len(self._looked_at) > _MOST_HOSTS:
            gone = next(iter(self._looked_at))
            del self._looked_at[gone]
            self._shared.pop(gone, None)
            self._mirrors.pop(gone, None)


def in_words(of: str) -> str:
    return f"a mirror of {of}: its first pages are the same, at the same paths"
