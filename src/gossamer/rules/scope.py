"""Which URLs belong to this crawl: those its seeds reach.

Judged when a link is offered, for each URL seen for the first time.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache, lru_cache

import msgspec
from publicsuffixlist import PublicSuffixList

from gossamer.values.outcome import ALLOWED, Allowed, Denied
from gossamer.values.url import Url


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
