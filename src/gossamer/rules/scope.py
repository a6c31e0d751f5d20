"""Which URLs belong to this crawl: those its seeds reach, without those that were erased on request.

Judged when a link is offered, for each URL seen for the first time.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache, lru_cache

import msgspec
from publicsuffixlist import PublicSuffixList

from gossamer.rules.canonical import identity_of
from gossamer.values.outcome import ALLOWED, Allowed, Denied
from gossamer.values.url import OTHER, Url


class Reach(StrEnum):
    """How far a crawl goes from a seed."""

    PREFIX = "prefix"  # the folder of the seed: same scheme, host and start of the path
    HOST = "host"  # the seed's host, port included; http and https alike
    DOMAIN = "domain"  # the registrable domain: all hosts one owner can name under it
    ANY = "any"  # everything http(s)


class Scope(msgspec.Struct, frozen=True):
    """The reach of all seeds together, made by `scope_of`."""

    prefixes: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    is_open: bool = False
    """At least one seed reaches any URL."""
    deepest: int | None = None
    """Maximum number of links from a seed; None: no limit."""


def scope_of(seeds: Iterable[tuple[Url, Reach]], deepest: int | None = None) -> Scope:
    """The scope of these seeds, each with its own reach."""
    if deepest is not None and deepest < 0:
        raise ValueError(f"a page cannot be {deepest} links from its seed")
    given = list(seeds)
    return Scope(
        prefixes=tuple(sorted({folder_of(url) for url, reach in given if reach is Reach.PREFIX})),
        hosts=frozenset(url.host.name for url, reach in given if reach is Reach.HOST),
        domains=frozenset(domain_of(url.hostname) for url, reach in given if reach is Reach.DOMAIN),
        is_open=any(reach is Reach.ANY for _, reach in given),
        deepest=deepest,
    )


def judge(url: Url, depth: int, scope: Scope) -> Allowed | Denied:
    """Whether this URL, `depth` links from its seed, may enter the crawl."""
    if scope.deepest is not None and depth > scope.deepest:
        return Denied(f"{depth} links from its seed; the limit is {scope.deepest}")
    if scope.is_open:
        return ALLOWED
    text = url.text
    if scope.hosts and (text.split("/", 3)[2] if text.startswith("http") else url.host.name) in scope.hosts:
        return ALLOWED
    if scope.prefixes and text.startswith(scope.prefixes):
        return ALLOWED
    if scope.domains and domain_of(url.hostname) in scope.domains:
        return ALLOWED
    return Denied(_outside(scope))


def judge_host(url: Url, scope: Scope) -> Allowed | Denied:
    """Whether the crawl visits this URL's host at all. For what is not a page, such as a sitemap."""
    origin = f"{url.origin}/"
    if scope.is_open or url.host.name in scope.hosts or any(one.startswith(origin) for one in scope.prefixes):
        return ALLOWED
    return ALLOWED if scope.domains and domain_of(url.hostname) in scope.domains else Denied(_outside(scope))


def folder_of(url: Url) -> str:
    """The URL up to and including the last slash of its path."""
    return url.origin + url.path[: url.path.rindex("/") + 1]


@lru_cache(maxsize=65_536)
def domain_of(hostname: str) -> str:
    """The registrable domain (one label more than the public suffix); an IP address, or a name without one, is its
    own."""
    if ":" in hostname or _IPV4.fullmatch(hostname):
        return hostname
    plain = hostname.removesuffix(".")
    labels = plain.split(".")
    found: str | None = _suffixes().privatesuffix(".".join(map(_spoken, labels)) if "xn--" in plain else plain)
    return ".".join(labels[-found.count(".") - 1 :]) if found else plain


_SHOWN = 5
_IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+")  # WHATWG parsing has converted every other spelling to this


def _spoken(label: str) -> str:
    """As in the list of suffixes; unchanged if it is not punycode."""
    try:
        return label.encode("ascii").decode("idna") if label.startswith("xn--") else label
    except UnicodeError:
        return label


@cache
def _suffixes() -> PublicSuffixList:
    """Only in Unicode: the library takes three times as long to load every suffix in punycode too."""
    return PublicSuffixList(accept_encoded_idn=False)


@lru_cache(maxsize=8)
def _outside(scope: Scope) -> str:
    parts = [("prefix", scope.prefixes), ("host", sorted(scope.hosts)), ("domain", sorted(scope.domains))]
    named = [f"{kind} {_some(names)}" for kind, names in parts if names]
    return f"outside the scope: {'; '.join(named)}" if named else "outside the scope: there are no seeds"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


class Forgotten(msgspec.Struct, frozen=True):
    """What the user had forgotten: whole hosts by name, and pages by key, whatever their scheme or spelling."""

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
    """`NOTHING` itself if both are empty: every link is checked, and most crawls have forgotten nothing."""
    found = Forgotten(frozenset(hosts), frozenset(map(key_of, addresses)))
    return found if found else NOTHING


def is_like(name: str, host: str) -> bool:
    """Whether someone who named `host` may also have meant this one: another port, a subdomain, or a difference in
    `www.` only."""
    here, wanted = _bare(name), _bare(host).removeprefix("www.")
    return name != host and (here == wanted or here.endswith("." + wanted))


def _bare(name: str) -> str:
    """Without its scheme and port."""
    name = name.rpartition(OTHER)[2]
    return name.partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def host_in(key: str) -> str:
    """REQUIRES: the result of `key_of`; keys of non-web schemes begin with the scheme."""
    return Url(key if key.partition("/")[0].endswith(":") else f"https://{key}").host.name


def key_of(text: str) -> str:
    """The URL without its scheme, if that is http or https. REQUIRES: the text of a `Url`."""
    key = identity_of(text)
    return key.partition("://")[2] if key.startswith(("http://", "https://")) else key
