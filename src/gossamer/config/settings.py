"""All settings with their descriptions; docs/settings.md is generated from them."""

from dataclasses import dataclass, field
from typing import Any, Literal

WANTED = (
    "text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml", "application/rss+xml",
    "application/atom+xml", "application/rdf+xml", "application/ld+json", "application/feed+json",
)  # fmt: skip


def _setting(default: Any, says: str, *, least: float = 0, most: float | None = None, example: object = None) -> Any:
    """`least` and `most` bound a number; `example` is shown in the sample file if there is no default."""
    return field(default=default, metadata={"says": says, "least": least, "most": most, "example": example})


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    scope: Literal["prefix", "host", "domain", "any"] = _setting(
        "host",
        "how far links are followed from the seeds: same folder, same host, same registrable domain, or anywhere",
    )
    max_pages: int | None = _setting(
        None,
        "stop once the collection holds this many pages, also with --forever; unset: no limit",
        least=1,
        example=1000,
    )
    max_depth: int | None = _setting(
        None, "follow links at most this many steps from a seed; unset: no limit", example=5
    )
    at_once: int = _setting(
        128,
        "concurrent fetches from all hosts (always one per host); up to three times as many more if they take over 2 s",
        least=1,
    )
    keep: Literal["all", "structured"] = _setting("all", "archive every page, or only those with structured data")
    filters: tuple[str, ...] = _setting(
        (), 'custom filters: "file.py:function" in the data directory, or the name of an installed entry point'
    )
    readers: tuple[str, ...] = _setting(
        (), 'custom readers for other formats: "text/csv=file.py:function", or the name of an entry point'
    )
    protocols: tuple[str, ...] = _setting((), 'custom protocols: "gemini=file.py:Class", or the name of an entry point')
    sitemaps: bool = _setting(True, "also fetch the URLs listed in sitemaps named by a robots.txt")
    feeds: Literal["once", "follow"] = _setting(
        "once",
        "read linked feeds once, like any page, or revisit them as often as they ask: the crawl then does not end",
    )
    revisit: Literal["no", "age", "paper", "tree", "uniform"] = _setting(
        "no",
        "revisit pages by this policy (`age` keeps copies as fresh as the budget allows); the crawl then does not "
        "end. no: each page is fetched once",
    )
    revisit_budget: float | None = _setting(
        None, "revisits a day; unset: one per page every three days", example=20_000
    )
    revisit_site_budget: float | None = _setting(
        None, "revisits a day of one host; never more than half of what politeness allows", example=1_000
    )
    revisit_links: bool = _setting(
        True,
        "a page is also revisited sooner if enough of the pages it links to have changed (`age` and `paper`: 40 % at "
        "first, then adjusted for each page), or if the page that links to it has (`tree`)",
    )
    changes: tuple[Literal["bytes", "text", "facts"], ...] = _setting(
        ("text", "facts"), "what counts as a change of a page: its bytes, its main text, the facts it states"
    )
    site_visits: int = _setting(
        100_000, "fetches after which a site gets lower priority; more if other sites link to it", least=1
    )
    site_time_s: float | None = _setting(
        None, "seconds of total response time after which a site gets lower priority; unset: no limit", example=3600
    )


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    delay_s: float = _setting(1.0, "minimum seconds between the end of one request to a host and the start of the next")
    most_crawl_delay_s: float = _setting(30.0, "a longer Crawl-delay in a robots.txt is limited to this")
    robots_retry_s: float = _setting(
        60.0, "wait this long before requesting a failed robots.txt again; doubles each time", least=0.1
    )
    robots_retry_most_s: float = _setting(
        86_400.0, "the longest such wait; with --forever a host whose robots.txt fails is never given up", least=0.1
    )
    robots_tries: int = _setting(
        4,
        "give up on a host after its robots.txt failed this many times in a row (not with --forever); the next crawl "
        "tries again",
        least=1,
    )
    robots_refusal_disallows: bool = _setting(
        False, "treat status 401 or 403 for a robots.txt as “nothing may be fetched” instead of “no robots.txt”"
    )
    times_took: float = _setting(
        10.0,
        "the gap is at least this many times the duration of the host's last response, as in Mercator: a slow host, "
        "small or busy, gets longer gaps; of a response that was cut, the time to its headers counts",
    )
    most_gap_s: float = _setting(30.0, "a slow response extends the gap to this at most; delay_s always counts in full")
    times_read: float = _setting(
        10.0,
        "the gap is at least this many times the CPU seconds that reading the host's last page took, minus the "
        "first quarter of a second",
    )
    per_address: int = _setting(
        4, "concurrent fetches from one IP address, no matter how many hosts it serves", least=1
    )
    apart_s: float = _setting(0.1, "minimum seconds between the starts of two fetches from one IP address")
    retire_failures: int = _setting(20, "a host that failed this many times in a row ...", least=1)
    retire_days: float = _setting(7.0, "... and for this many days is retired: `gossamer hosts` lists it")


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    database: str = _setting(
        "",
        "PostgreSQL database for the state of the crawl, chosen by the first crawl into a directory; empty: SQLite. "
        "In the connection string ${NAME} stands for a variable and ${file:PATH} for a file with the password",
    )


@dataclass(frozen=True, slots=True)
class FetchSettings:
    timeout_s: float = _setting(30.0, "a response must be complete within this time", least=0.1)
    connect_s: float = _setting(10.0, "a connection must be established within this time", least=0.1)
    least_rate: int = _setting(1024, "bytes per second below which a response is aborted, after the first 10 s")
    body_limit: int = _setting(
        16 * 1024 * 1024, "maximum size of a decoded body in bytes; longer bodies are cut", least=1024
    )
    memory_mib: int = _setting(
        256,
        "memory for bodies in the crawler process, from the first byte received until they are on disk, copies "
        "included; hosts share it fairly",
        least=32,
    )
    allow_addresses: tuple[str, ...] = _setting(
        (),
        'private IP addresses and ranges that may be crawled, such as "10.1.0.0/16" or "::1"',
    )
    tls: Literal["verify", "record"] = _setting(
        "verify", "verify: reject servers without a valid certificate; record: accept them and mark their captures"
    )
    types: tuple[str, ...] = _setting(
        WANTED, "media types that are collected; anything else is dropped after its headers"
    )
    documents: bool = _setting(
        True,
        "also collect documents: PDF, Word, Excel, PowerPoint, OpenDocument, RTF, EPUB, mail, CSV, Markdown; "
        "`gossamer[documents]` has the readers of some of them",
    )
    tika: str = _setting(
        "",
        "a Tika server, asked for the text of documents that no reader here can read; their types belong into "
        "`fetch.types`; a password as ${VARIABLE} or ${file:/path}",
        example="http://127.0.0.1:9998",
    )
    archives: bool = _setting(
        False, "also collect ZIP, tar and gzip files; each is one page, with the text of the documents in it"
    )
    tls_authorities: str | None = _setting(
        None, "a PEM file of further certificate authorities to trust", example="authorities.pem"
    )


@dataclass(frozen=True, slots=True)
class RetrySettings:
    base_s: float = _setting(30.0, "wait this long after the first failure of a page; doubles each time", least=0.1)
    cap_s: float = _setting(3600.0, "the longest such wait; not less than base_s", least=0.1)
    tries: int = _setting(3, "how many times a failing page is tried in total", least=1)


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    count: int | None = _setting(None, "reader processes; unset: one for each core", least=1, example=4)
    cpu_s: float = _setting(
        5.0,
        "CPU seconds a reader may spend on one page; whole seconds are counted, so it can take up to two more",
        least=0.1,
    )
    wall_s: float = _setting(60.0, "wall-clock seconds a reader may spend on one page, for a busy machine", least=0.1)
    memory_mib: int = _setting(512, "maximum memory of a reader process", least=128)


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    directories: tuple[str, ...] = _setting(
        (),
        "directories for the volumes, each on a disk of its own; relative ones start at the data directory; empty: "
        "its folder `archive`",
    )
    copies: int = _setting(
        1, "how many of the directories each volume is stored in; missing copies are made again", least=1, most=16
    )
    volume_mib: int = _setting(1024, "start a new WARC volume when the current one has reached this size", least=1)
    low_water_mib: int = _setting(
        256,
        "the crawl pauses while the disk has less free space than this; of several disks for the archive, a disk "
        "with less gets no new volumes, and the crawl pauses when all have less",
    )
    storage: str = _setting(
        "",
        "object storage of a cluster's archive, as `gossamer cluster init --archive` was given it; secrets as "
        "${VARIABLE} or ${file:/path}",
        example="s3://my-bucket/mycrawl?region=eu-central-1",
    )
    segment_mib: int = _setting(
        8, "in a cluster, fetched pages are stored in segments of at most this size ...", least=1, most=1024
    )
    segment_s: float = _setting(
        1.0,
        "... or of what arrived within so many seconds; a host gets no further fetch before its last one is stored, so "
        "more than politeness.delay_s slows down a crawl of few hosts",
        least=0.05,
        most=60,
    )
    retain: str = _setting(
        "all",
        "which versions of a page `gossamer compact` keeps: all, last:N, or thinned (all for 30 days, one a week to a "
        "year, then one every four weeks; the first and the newest always)",
    )


@dataclass(frozen=True, slots=True)
class ViewsSettings:
    words: str = _setting(
        "",
        "an OpenSearch service for the words instead of the folder `index`: its URL, and as path how the names of its "
        "indexes begin; a password as ${VARIABLE} or ${file:/path}",
        example="https://spider:${WORDS_PASSWORD}@search.example.org:9200/mycrawl",
    )
    facts: str = _setting(
        "",
        "the query endpoint of a SPARQL 1.1 server that keeps the facts, such as "
        '"http://spider:${FACTS_PASSWORD}@host:3030/gossamer/query"; empty: an embedded Oxigraph store',
    )
    facts_update: str = _setting(
        "", "its update endpoint; empty: the same with /update in place of /query or /sparql at its end"
    )
    backlog: int = _setting(
        200_000, "in a cluster, fetching pauses while a view has this many pages still to take", least=1000
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    host: str = _setting(
        "127.0.0.1", "the IP address the web server binds to; unless it is local, everything needs a token"
    )
    names: tuple[str, ...] = _setting(
        (), "host names the web server responds to, in addition to its IP address, if that is not local"
    )
    public: bool = _setting(False, "anyone who reaches the web server can read without a token; changes still need one")
    behind_tls: bool = _setting(
        False,
        "a TLS reverse proxy on this machine is in front: cookies are sent over HTTPS only, everyone needs a token",
    )
    port: int = _setting(8642, "the port of the web server; 0: any free one", most=65535)
    sparql_s: float = _setting(10.0, "time limit of a SPARQL query", least=0.1)
    searchers: int | None = _setting(
        None,
        "search processes, started a second after the server or by the first search; 0: search in the web process; "
        "unset: two, or one on a single core",
        most=64,
        example=4,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    contact: str | None = _setting(
        None,
        "where a site owner can reach you: a URL or an email address; required before a public site is crawled",
        example="https://example.org/about-my-crawler",
    )
    agent: str = _setting("Gossamer", "the name in the User-Agent header, also used to match robots.txt groups")
    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    frontier: FrontierSettings = field(default_factory=FrontierSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    readers: ReaderSettings = field(default_factory=ReaderSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    views: ViewsSettings = field(default_factory=ViewsSettings)
    web: WebSettings = field(default_factory=WebSettings)
