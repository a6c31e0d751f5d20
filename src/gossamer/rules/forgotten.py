"""What was to be forgotten, and is not let in again. Pure."""

from collections.abc import Iterable

import msgspec

from gossamer.rules.canonical import identity_of
from gossamer.rules.verdict import Allowed, Denied
from gossamer.values.url import OTHER, Url


class Forgotten(msgspec.Struct, frozen=True):
    """Whole hosts, by name, and single pages, by key: whatever their scheme, and however the address is spelt."""

    hosts: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.pages)

    def has(self, url: Url) -> bool:
        if not self.hosts and not self.pages:
            return False
        return url.host.name in self.hosts or (bool(self.pages) and key_of(url.text) in self.pages)

    @property
    def at(self) -> frozenset[str]:
        """The names of all hosts concerned."""
        return self.hosts | {host_in(key) for key in self.pages}

    def judge(self, url: Url) -> Allowed | Denied:
        if not self.has(url):
            return Allowed()
        what = url.host.name if url.host.name in self.hosts else url.text
        return Denied(f"{what} was forgotten on request; `gossamer forget --allow {what}` takes that back")


NOTHING = Forgotten()


def forgotten_of(hosts: Iterable[str], addresses: Iterable[str]) -> Forgotten:
    """`NOTHING` itself when both are empty: every link that is found is asked about, and most crawls forget none."""
    found = Forgotten(frozenset(hosts), frozenset(map(key_of, addresses)))
    return found if found else NOTHING


def is_like(name: str, host: str) -> bool:
    """Whether somebody who named `host` may have meant this one too: another port of it, a host below it, or one that
    differs in a `www.` alone."""
    here, wanted = _bare(name), _bare(host).removeprefix("www.")
    return name != host and (here == wanted or here.endswith("." + wanted))


def _bare(name: str) -> str:
    """Without its scheme and port."""
    name = name.rpartition(OTHER)[2]
    return name.partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def host_in(key: str) -> str:
    """REQUIRES: what `key_of` gives; a key of another scheme than the web's begins with it."""
    return Url(key if key.partition("/")[0].endswith(":") else f"https://{key}").host.name


def key_of(text: str) -> str:
    """Without the scheme, if it is one of the web. REQUIRES: the text of a `Url`."""
    key = identity_of(text)
    return key.partition("://")[2] if key.startswith(("http://", "https://")) else key
