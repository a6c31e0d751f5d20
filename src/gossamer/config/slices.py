"""Settings as each room takes them."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import msgspec

from gossamer.base.clock import DAY_S
from gossamer.config.settings import WANTED, Settings
from gossamer.values.document import FORMAT_OF, JSON

# The fetch client: limits, timeouts and identity.


@dataclass(frozen=True, slots=True)
class Fetch:
    agent: str = "Gossamer"  # the product token of the User-Agent
    contact: str | None = None  # a URL or email address for site owners; None: public addresses are refused
    timeout_s: float = 30.0  # for the whole fetch: name, connection, response
    connect_s: float = 10.0  # of that, for the name, the connection and TLS
    least_rate: int = 1024  # a body that arrives at fewer bytes per second on average is aborted ...
    least_rate_after_s: float = 10.0  # ... after this time
    body_limit: int = 16 * 1024 * 1024  # bytes after which a body is cut, as sent and as decoded
    document_limit: int = 64 * 1024 * 1024  # for PDF, office documents, books and mail boxes
    list_limit: int = 50 * 1024 * 1024  # for files named as sitemaps (sitemaps.org)
    robots_limit: int = 512 * 1024  # for robots.txt
    other_limit: int = 256 * 1024  # for responses without a page: redirects, errors
    header_limit: int = 64 * 1024  # bytes of all header fields together
    header_fields: int = 256  # header fields
    at_once: int = 256  # concurrent connections apart from slow ones (`budget.CROWD`); as many are kept open
    idle_s: float = 15.0  # an unused connection is closed after this time
    wanted: tuple[str, ...] = WANTED  # media types that are collected; others are dropped after their headers
    wanted_by_name: tuple[str, ...] = ()  # those collected if only the name of the file says what it is
    allow_addresses: tuple[str, ...] = ()  # private ranges that may be crawled, such as "10.1.0.0/16"
    tls: Literal["verify", "record"] = "verify"  # servers without a valid certificate: refused, or accepted and marked
    tls_authorities: str | None = None  # a PEM file of further certificate authorities to trust


@dataclass(frozen=True, slots=True)
class RobotsKeeping:
    """How long the entry of a robots.txt is valid (RFC 9309, 2.3 and 2.4)."""

    keep_s: float = 24 * 3600.0  # read or missing; also the maximum for a Cache-Control
    keep_least_s: float = 600.0  # the minimum for a max-age: requesting it costs a fetch too
    retry_s: float = 60.0  # after the first failure; doubles each time
    retry_most_s: float = 24 * 3600.0  # the longest such wait, unless the server asks for a longer one ...
    retry_copy_s: float = 3600.0  # ... and while there is a good copy, which is to apply again soon
    patience_s: float = 12 * 3600.0  # unreachable for this long: the last good copy applies again ...
    old_copy_s: float = 30 * 24 * 3600.0  # ... if it is younger than this
    most_hops: int = 5  # redirects followed; one more means there is no robots.txt
    refusal_disallows: bool = False  # treat 401 and 403 as "nothing may be fetched" instead of "no robots.txt"


@dataclass(frozen=True, slots=True)
class SiteBudget:
    """What a site may cost before it gets lower priority (as in IRLbot). It is never refused."""

    visits: int = 100_000
    visits_per_link: int = 10_000
    """Added for each other host that links to it: such links are hard to fake in large numbers."""
    time_s: float | None = None
    """Total response time; None: no limit."""

    def __post_init__(self) -> None:
        if self.visits < 0 or self.visits_per_link < 0 or (self.time_s is not None and not self.time_s >= 0):
            raise ValueError(f"invalid budget: {self}")


@dataclass(frozen=True, slots=True)
class Politeness:
    delay_s: float = 1.0
    """Minimum time between the end of one fetch from a host and the start of the next."""
    longest_crawl_delay_s: float = 30.0
    """A Crawl-delay in robots.txt is limited to this; `delay_s` always counts in full."""
    times_took: float = 0.0
    """The gap is also at least this many times the duration of the last response; 0: no effect."""
    longest_gap_s: float = 30.0
    """A slow response extends the gap to this at most."""
    times_read: float = 0.0
    """The gap is also at least this many times the CPU seconds that reading the last page took, beyond an allowance:
    hosts with expensive pages leave most of the readers' time to others."""
    most_back_off: float = 16.0
    """Each consecutive failure of a host doubles its gap, up to this many gaps."""
    robots_tries: int | None = 4
    """After this many consecutive failures of a robots.txt, the pages waiting for it are given up. None: never."""
    jitter: float = 0.25
    """A backed-off gap is extended by up to this share, so that hosts that failed together do not return together."""
    per_address: int = 4
    """Concurrent fetches from one IP address, no matter how many hosts it serves."""
    apart_s: float = 0.1
    """Minimum time between the starts of two of them."""
    retire_failures: int = 20
    """A host with this many consecutive failures,"""
    retire_span_s: float = 7 * 86_400.0
    """over this much time, is not fetched from until it is reinstated."""

    def __post_init__(self) -> None:
        gaps = (self.delay_s, self.longest_crawl_delay_s, self.longest_gap_s, self.times_took, self.times_read)
        numbers = (*gaps, self.apart_s, self.retire_span_s)
        counted = (1 if self.robots_tries is None else self.robots_tries, self.per_address, self.retire_failures)
        if not all(math.isfinite(n) and n >= 0 for n in numbers) or min(counted) < 1:
            raise ValueError(f"invalid politeness: {self}")
        if not self.most_back_off >= 1 or not 0 <= self.jitter <= 1:
            raise ValueError(f"invalid politeness: {self}")


def _shared(kind: type, given: Any) -> dict[str, Any]:
    """The values of `given` that have the same name in `kind`."""
    names = {one.name for one in fields(kind)}
    return {one.name: getattr(given, one.name) for one in fields(given) if one.name in names}


def document_types(settings: Settings, absent: Collection[str]) -> tuple[str, ...]:
    """The media types of documents that are collected. `absent`: formats whose readers are not installed."""
    if not settings.fetch.documents:
        return ()
    return tuple([name for name, kind in FORMAT_OF.items() if kind not in absent])


def fetch_settings(settings: Settings, other_types: Sequence[str] = (), absent: Collection[str] = ()) -> Fetch:
    """`other_types`: media types that custom readers read. `absent`: formats that nothing here can read."""
    documents = document_types(settings, absent)
    return Fetch(
        agent=settings.agent,
        contact=settings.contact,
        at_once=settings.crawl.at_once,
        wanted=(*settings.fetch.types, *other_types, *[one for one in documents if FORMAT_OF[one] != JSON]),
        wanted_by_name=documents,
        **_shared(Fetch, settings.fetch),
    )


def politeness(settings: Settings) -> Politeness:
    given = settings.politeness
    found = Politeness(
        **_shared(Politeness, given),
        longest_crawl_delay_s=given.most_crawl_delay_s,
        longest_gap_s=given.most_gap_s,
        retire_span_s=given.retire_days * DAY_S,
    )
    return found if settings.crawl.revisit == "no" else replace(found, robots_tries=None)


def budget(settings: Settings) -> SiteBudget:
    return SiteBudget(visits=settings.crawl.site_visits, time_s=settings.crawl.site_time_s)


def robots_keeping(settings: Settings) -> RobotsKeeping:
    given = settings.politeness
    return RobotsKeeping(
        retry_s=given.robots_retry_s,
        retry_most_s=given.robots_retry_most_s,
        refusal_disallows=given.robots_refusal_disallows,
    )


_LAST = re.compile(r"last:([1-9][0-9]{0,8})")


class Retain(msgspec.Struct, frozen=True):
    """`thinned`: everything for 30 days, then one version a week to a year of age, then one every four weeks."""

    kind: Literal["all", "last", "thinned"] = "all"
    versions: int = 0
    """For `last`: how many."""


def retain_of(text: str) -> Retain:
    """`all`, `last:N` or `thinned`. Raises ValueError for anything else."""
    if text in ("all", "thinned"):
        return Retain("all" if text == "all" else "thinned")
    found = _LAST.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not all, last:N (such as last:5) or thinned")
    return Retain("last", int(found[1]))
