"""Every setting there is: frozen, documented here, written out in docs/settings.md, each room given its own slice."""

from dataclasses import dataclass, field
from typing import Any, Literal

WANTED = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "application/xml",
    "text/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/ld+json",
    "application/feed+json",
)


def _setting(default: Any, says: str, *, least: float = 0, most: float | None = None, example: object = None) -> Any:
    """`least` and `most` bound a number; `example` stands in the sample file where there is no default."""
    return field(default=default, metadata={"says": says, "least": least, "most": most, "example": example})


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    scope: Literal["prefix", "host", "domain", "any"] = _setting(
        "host", "how far links are followed from the seeds: same folder, same host, same registrable domain, anywhere"
    )
    max_pages: int | None = _setting(
        None,
        "stop once the collection holds this many pages, a crawl without end too; unset: no limit",
        least=1,
        example=1000,
    )
    max_depth: int | None = _setting(
        None, "follow links at most this many steps from a seed; unset: no limit", example=5
    )
    at_once: int = _setting(
        128,
        "visits under way at one time, over all hosts (one a host, always); up to three times as many more that take "
        "over 2 s",
        least=1,
    )
    keep: Literal["all", "structured"] = _setting(
        "all", "archive every page whole, or only those that hold structured data"
    )
    filters: tuple[str, ...] = _setting(
        (), 'filters of your own: "file.py:function" in the data directory, or the name of an installed entry point'
    )
    readers: tuple[str, ...] = _setting(
        (), 'readers of your own for other formats: "text/csv=file.py:function", or the name of an entry point'
    )
    protocols: tuple[str, ...] = _setting(
        (), 'protocols of your own: "gemini=file.py:Class", or the name of an entry point'
    )
    sitemaps: bool = _setting(True, "also visit what the sitemaps list that a robots.txt names")
    feeds: Literal["once", "follow"] = _setting(
        "once", "read feeds that pages name like any page, or come back as often as they ask: the crawl then has no end"
    )
    revisit: Literal["no", "age", "paper", "tree", "uniform"] = _setting(
        "no",
        "come back to pages, by this policy (`age` keeps copies as young as the budget allows); the crawl then has no "
        "end. no: each page is fetched once",
    )
    revisit_budget: float | None = _setting(
        None, "visits a day to pages that were fetched before; unset: one a page every three days", example=20_000
    )
    revisit_site_budget: float | None = _setting(
        None, "the same for one host; never more than half of what politeness leaves room for", example=1_000
    )
    revisit_links: bool = _setting(
        True,
        "a page also comes sooner because enough of the pages it links to have changed (`age` and `paper`: 40 % at "
        "first, then moved for each page), or because the page that links to it has (`tree`)",
    )
    changes: tuple[Literal["bytes", "text", "facts"], ...] = _setting(
        ("text", "facts"), "what counts as a change of a page: its bytes, its main text, the facts it states"
    )
    site_visits: int = _setting(
        100_000, "visits after which a site waits behind the others; more when other sites link to it", least=1
    )
    site_time_s: float | None = _setting(
        None, "seconds of answering after which a site waits behind the others; unset: no limit", example=3600
    )


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    delay_s: float = _setting(1.0, "least seconds between the end of one visit to a host and the start of the next")
    most_crawl_delay_s: float = _setting(30.0, "a longer Crawl-delay in a robots.txt is cut to this")
    robots_retry_s: float = _setting(
        60.0, "wait this long before asking again for a robots.txt that failed; doubles", least=0.1
    )
    robots_retry_most_s: float = _setting(
        86_400.0, "the longest such wait: with --forever a host whose robots.txt fails is never given up", least=0.1
    )
    robots_tries: int = _setting(
        4,
        "give a host up after its robots.txt could not be read this often in a row, in a crawl that ends; the next one "
        "asks again",
        least=1,
    )
    robots_refusal_disallows: bool = _setting(
        False, "a robots.txt that answers 401 or 403 means that nothing may be fetched, not that there is none"
    )
    times_took: float = _setting(
        10.0,
        "leave a host alone for at least this many times as long as its last answer took, as Mercator does: a host "
        "that is slow, because it is small or busy, gets the more rest; an answer cut at a limit counts up to its head",
    )
    most_gap_s: float = _setting(30.0, "a slow answer draws the gap out to this at most; delay_s counts in full")
    times_read: float = _setting(
        10.0,
        "leave a host alone for at least this many times the CPU seconds that reading its last page took, less the "
        "first quarter of a second",
    )
    per_address: int = _setting(4, "visits at one time to one network address, however many hosts it serves", least=1)
    apart_s: float = _setting(0.1, "least seconds between the starts of two of them")
    retire_failures: int = _setting(20, "a host that failed this often in a row ...", least=1)
    retire_days: float = _setting(7.0, "... and for this many days is retired: `gossamer hosts` shows it")


@dataclass(frozen=True, slots=True)
class FetchSettings:
    timeout_s: float = _setting(30.0, "a whole answer must arrive within this time", least=0.1)
    connect_s: float = _setting(10.0, "a connection must stand within this time", least=0.1)
    least_rate: int = _setting(1024, "bytes a second below which an answer is given up, after the first 10 s")
    body_limit: int = _setting(16 * 1024 * 1024, "bytes of a body, decoded, after which it is cut", least=1024)
    memory_mib: int = _setting(
        256,
        "memory for bodies in the crawler process, from the first byte received until they are on disk, copies "
        "included; hosts share it fairly",
        least=32,
    )
    allow_addresses: tuple[str, ...] = _setting(
        (),
        'private addresses and ranges that may be crawled, such as "10.1.0.0/16" or "::1"; nothing else opens',
    )
    tls: Literal["verify", "record"] = _setting(
        "verify", "a server that cannot prove its name is refused, or is taken and its captures marked"
    )
    types: tuple[str, ...] = _setting(
        WANTED, "media types that are collected; anything else is dropped once its headers are in"
    )
    tls_authorities: str | None = _setting(
        None, "a PEM file of further certificate authorities to trust", example="authorities.pem"
    )


@dataclass(frozen=True, slots=True)
class RetrySettings:
    base_s: float = _setting(30.0, "wait this long after the first failure of a page; doubles each time", least=0.1)
    cap_s: float = _setting(3600.0, "the longest such wait; not less than base_s", least=0.1)
    tries: int = _setting(3, "how often a failing page is tried in all", least=1)


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    count: int | None = _setting(None, "reader processes; unset: one for each core", least=1, example=4)
    cpu_s: float = _setting(
        5.0, "CPU seconds a reader may spend on one page; whole seconds are counted, so up to two more pass", least=0.1
    )
    wall_s: float = _setting(
        60.0, "the longest a reader may take over one page by the clock, on a busy machine too", least=0.1
    )
    memory_mib: int = _setting(512, "the most memory a reader may use", least=128)


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    volume_mib: int = _setting(1024, "a new WARC volume is begun when one has grown to this size", least=1)
    low_water_mib: int = _setting(256, "the crawl pauses while the disk has less free space than this")
    retain: str = _setting(
        "all",
        "which versions of a page `gossamer compact` keeps: all, last:N, or thinned (all for 30 days, one a week to a "
        "year, then one every four weeks; the first and the newest always)",
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    host: str = _setting(
        "127.0.0.1", "the address the search page binds to; beyond this machine everything needs a token"
    )
    names: tuple[str, ...] = _setting(
        (), "host names the search page answers to beside its address, where it binds beyond this machine"
    )
    public: bool = _setting(
        False, "anybody who reaches the search page may read without a token; changes still need it"
    )
    behind_tls: bool = _setting(
        False,
        "a server on this machine that speaks TLS stands in front: cookies are sent by HTTPS only, all need a token",
    )
    port: int = _setting(8642, "the port of the search page; 0: any free one", most=65535)
    sparql_s: float = _setting(10.0, "the longest a SPARQL query may run", least=0.1)
    searchers: int | None = _setting(
        None,
        "processes that answer searches, started a second after the server or by the first search; 0: the web process "
        "does it; unset: two, or one on a single core",
        most=64,
        example=4,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    contact: str | None = _setting(
        None,
        "where a site owner reaches you: an address of a page or mail box; needed before a public site is crawled",
        example="https://example.org/about-my-crawler",
    )
    agent: str = _setting("Gossamer", "the name in the User-Agent and the one robots.txt groups are matched with")
    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    readers: ReaderSettings = field(default_factory=ReaderSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    web: WebSettings = field(default_factory=WebSettings)
