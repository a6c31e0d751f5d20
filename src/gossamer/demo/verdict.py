"""Compares a crawl of the demonstration web with its manifest.

Also the server's log with the rules of politeness.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import takewhile

import msgspec

from gossamer.base.clock import SECOND, Instant, SystemClock
from gossamer.demo.genres import Site
from gossamer.demo.oddities import (
    CLOSED,
    FETCHED,
    FORBIDDEN,
    LINK,
    NOT_FOLLOWED,
    NOWHERE,
    ODD_HOSTS,
    OPEN,
    OPTIONAL,
    SITEMAP,
    oddities,
    rules_of,
    statements_of,
)
from gossamer.demo.pages import counts_of
from gossamer.demo.server import Logged
from gossamer.demo.sites import AGENT, DemoRobots, sitemap_place, start_statements, unlisted_paths
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED, TRAPS, real_paths
from gossamer.demo.web import LEDGERS, DemoWeb
from gossamer.frontier.reports import every_end
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.views.words.place import words_reader

DROPPED = (*FETCHED, "media-type")


class ExpectedPage(msgspec.Struct, frozen=True):
    """A URL and how a fetch of it must end."""

    url: str
    outcomes: tuple[str, ...] = FETCHED
    """The reason codes (`values.outcome.Reason`) that are right."""
    via: str = LINK
    """"link": links from the seeds lead there, and recall counts it. "sitemap", "retry", "trap" and "optional": it
    may be found, and is not missed."""
    what: str = ""
    """The odd behaviour, if any: "redirect-loop", "wrong-charset", ..."""
    facts: int = 0
    """Distinct triples, in all syntaxes."""
    rdfa: int = 0
    jsonld: int = 0
    microdata: int = 0

    @property
    def counts(self) -> bool:
        """Whether recall counts it."""
        return self.via == LINK and FETCHED[0] in self.outcomes


class ExpectedHost(msgspec.Struct, frozen=True):
    name: str
    robots: str
    """"read", "missing" (404: all is allowed), "unreachable" (500: nothing is), or "no-host" (it does not resolve)."""
    rules: tuple[tuple[bool, str], ...] = ()
    """(allows, pattern) as they apply to our agent; the longest pattern that matches decides."""
    crawl_delay_s: float | None = None
    pages: tuple[ExpectedPage, ...] = ()
    forbidden: tuple[str, ...] = ()
    """URLs that are linked and must never be requested."""


class ExpectedTrap(msgspec.Struct, frozen=True):
    """A trap site, and the pages of it that are worth fetching."""

    what: str
    hosts: tuple[str, ...]
    """Several are mirrors of each other: each page is wanted once."""
    real: tuple[str, ...]
    """Paths of its real pages."""
    void: str = ""
    """A query parameter that makes no difference to the page."""


class Manifest(msgspec.Struct, frozen=True):
    seed: int
    profile: str
    agent: str
    seeds: tuple[str, ...]
    hosts: tuple[ExpectedHost, ...]
    traps: tuple[ExpectedTrap, ...] = ()

    @property
    def pages(self) -> tuple[ExpectedPage, ...]:
        return tuple(page for host in self.hosts for page in host.pages)

    @property
    def forbidden(self) -> tuple[str, ...]:
        return tuple(url for host in self.hosts for url in host.forbidden)


def manifest_of(web: DemoWeb) -> Manifest:
    """Computed without rendering a page, for the agent `gossamer`."""
    lost = tuple(ExpectedPage(f"http://{NOWHERE}{path}", _LOST, what="no-such-host") for path in ("/", "/lost"))
    hosts = (
        *(_site(web, site) for site in web.sites),
        *(_odd(web, host) for host in ODD_HOSTS),
        *(ExpectedHost(host, "read") for host in web.trap_hosts),
        ExpectedHost(NOWHERE, "no-host", pages=lost),
    )
    traps = tuple(
        ExpectedTrap(trap.what, trap.hosts, real_paths(trap, web.traps), trap.void)
        for trap in (TRAPS if web.traps else ())
    )
    return Manifest(web.seed, web.profile_name, AGENT, web.seeds, hosts, traps)


_LOST = ("dns", "robots-unreachable")
"""A name that does not resolve fails when its robots.txt is requested, or at the page itself."""


def _site(web: DemoWeb, site: Site) -> ExpectedHost:
    origin, kind, rules, start = site.origin, site.kind, web.rules(site), f"{site.origin}/"
    pages = [ExpectedPage(start, FETCHED, LINK, "", *counts_of(start_statements(site), start, kind.languages[0]))]
    pages += [ExpectedPage(origin + kind.listing.format(k=k)) for k in range(1, site.listings + 1)]
    for item in (web.item(site, number) for number in range(site.items)):
        counts = counts_of(web.statements_of(item), item.url, item.language)
        pages.append(ExpectedPage(item.url, FETCHED, LINK, "", *counts))
    pages.append(ExpectedPage(f"{origin}/private/welcome", what="robots-exception"))
    pages.append(ExpectedPage(f"{origin}/old/brochure", ("gone",), what="dead-404"))
    extra = ["/style.css", sitemap_place(site)] + (["/feed.rss", "/feed.atom"] if kind.name == "blog" else [])
    pages += [ExpectedPage(origin + path, DROPPED, OPTIONAL) for path in extra]
    pages += [ExpectedPage(origin + path, via=SITEMAP, what="unlisted") for path in unlisted_paths(site)]
    ledgers = tuple(origin + path for path in LEDGERS)
    return ExpectedHost(site.host, "read", rules.lines, rules.crawl_delay_s, tuple(pages), ledgers)


def _odd(web: DemoWeb, host: str) -> ExpectedHost:
    rules = rules_of(host, web.profile) or DemoRobots()
    robots = {OPEN: "missing", CLOSED: "unreachable"}.get(host, "read")
    pages = tuple(
        ExpectedPage(odd.url, odd.outcomes, odd.via, odd.what, *counts_of(statements_of(odd), odd.url, "en"))
        for odd in oddities(web.trap_pages)
        if odd.host == host
    )
    shut = tuple(f"http://{host}{path}" for path in (*FORBIDDEN.get(host, ()), *NOT_FOLLOWED.get(host, ())))
    return ExpectedHost(host, robots, rules.lines, rules.crawl_delay_s, pages, shut)


SLACK_S = 0.005
"""Tolerance: two processes read one clock at slightly different moments."""
ROBOTS = "/robots.txt"


class CrawledPage(msgspec.Struct, frozen=True):
    """What a crawl recorded of a URL."""

    reason: str
    """The reason code of its last fetch."""
    facts: int = 0


class TooEarly(msgspec.Struct, frozen=True):
    """A request before the host's gap was over; `gap_s` is negative if two requests overlapped."""

    host: str
    url: str
    gap_s: float
    promised_s: float


class WrongEnd(msgspec.Struct, frozen=True):
    url: str
    expected: tuple[str, ...]
    got: str
    """Empty: never fetched."""


class WrongFacts(msgspec.Struct, frozen=True):
    url: str
    expected: int
    found: int


class Trapped(msgspec.Struct, frozen=True):
    """The cost of a trap, by the server's log."""

    what: str
    hosts: tuple[str, ...]
    real: int
    found: int
    wasted: int
    """Requests other than one for each real page and for robots.txt."""

    @property
    def is_escaped(self) -> bool:
        return self.found >= LEAST_FOUND * self.real and self.wasted <= MOST_WASTED


class Verdict(msgspec.Struct, frozen=True):
    pages_expected: int
    pages_found: int
    missing: tuple[str, ...]
    disallowed_fetched: tuple[str, ...]
    politeness_violations: tuple[TooEarly, ...]
    facts_expected: int
    facts_found: int
    wrong_facts: tuple[WrongFacts, ...]
    wrong_outcomes: tuple[WrongEnd, ...]
    """Redirects, dead links and failures with an unexpected outcome: reported, but not counted as failures."""
    found_via: dict[str, int]
    """Pages found that recall does not count, by how they are found."""
    hits: int
    smallest_gap_s: dict[str, float]
    """The shortest gap before a request, for hosts with two requests or more."""
    traps: tuple[Trapped, ...] = ()

    @property
    def recall(self) -> float:
        return self.pages_found / self.pages_expected if self.pages_expected else 1.0

    @property
    def passes(self) -> bool:
        failings = (self.missing, self.disallowed_fetched, self.politeness_violations, self.wrong_facts)
        return not any(failings) and all(trap.is_escaped for trap in self.traps)


def check(manifest: Manifest, found: Mapping[str, CrawledPage], log: Sequence[Logged], delay_s: float) -> Verdict:
    """`delay_s` is the crawler's configured gap."""
    ends = {page.url: found[page.url].reason if page.url in found else "" for page in manifest.pages}
    counted = [page for page in manifest.pages if page.counts]
    missing = tuple(page.url for page in counted if ends[page.url] not in page.outcomes)
    read = [page for page in manifest.pages if ends[page.url] in FETCHED]
    gaps = {host.name: max(delay_s, host.crawl_delay_s or 0.0) for host in manifest.hosts}
    return Verdict(
        pages_expected=len(counted),
        pages_found=len(counted) - len(missing),
        missing=missing,
        disallowed_fetched=disallowed(manifest, log),
        politeness_violations=tuple(too_early(log, gaps, delay_s)),
        facts_expected=sum(page.facts for page in counted),
        facts_found=sum(found[page.url].facts for page in counted if page.url in found),
        wrong_facts=tuple(
            WrongFacts(page.url, page.facts, found[page.url].facts)
            for page in read
            if found[page.url].facts != page.facts
        ),
        wrong_outcomes=tuple(
            WrongEnd(page.url, page.outcomes, ends[page.url])
            for page in manifest.pages
            if page.via == LINK and not page.counts and ends[page.url] not in page.outcomes
        ),
        found_via=dict(Counter(page.via for page in read if not page.counts)),
        hits=len(log),
        smallest_gap_s={host: min(gap for _, gap in hits) for host, hits in _gaps(log).items() if hits},
        traps=tuple(trapped(trap, log) for trap in manifest.traps),
    )


def verdict_of(web: DemoWeb, directory: Directory, log: Sequence[Logged], delay_s: float) -> Verdict:
    """What a crawl stored in a directory, compared with the manifest."""
    searcher = words_reader(directory, SystemClock())
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(open_state(directory)) as state:
        found = {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
    return check(manifest_of(web), found, log, delay_s)


def trapped(trap: ExpectedTrap, log: Iterable[Logged]) -> Trapped:
    """A page with several URLs, or on two hosts, is found once; the other requests are wasted."""
    void = re.compile(rf"[?&]{trap.void}=[^&]*") if trap.void else None
    asked = [hit.target for hit in log if hit.host in trap.hosts and hit.status == 200 and hit.target != ROBOTS]
    plain = [void.sub("", target) for target in asked] if void else asked
    found = set(plain) & set(trap.real)
    return Trapped(trap.what, trap.hosts, len(trap.real), len(found), len(plain) - len(found))


def disallowed(manifest: Manifest, log: Iterable[Logged]) -> tuple[str, ...]:
    """URLs in the log that robots rules, an unreadable robots.txt or nofollow forbade; each once."""
    hosts = {host.name: host for host in manifest.hosts}
    listed = set(manifest.forbidden)
    asked = dict.fromkeys((hit.host, hit.target) for hit in log if hit.target != ROBOTS)
    return tuple(
        url
        for name, target in asked
        if (url := f"http://{name}{target}") in listed or (name in hosts and not may_be_asked(hosts[name], target))
    )


def may_be_asked(host: ExpectedHost, target: str) -> bool:
    """RFC 9309, 2.2.2: the longest pattern that matches decides, Allow wins a tie, and no match allows."""
    if host.robots in ("unreachable", "no-host"):
        return False
    matching = [(len(pattern), allows) for allows, pattern in host.rules if _matcher(pattern).match(target)]
    return max(matching)[1] if matching else True


def too_early(log: Sequence[Logged], gaps: Mapping[str, float], delay_s: float) -> list[TooEarly]:
    """Compares each request to a host with the end of the one before it. The Crawl-delay counts once the robots.txt has
    been read: a crawler stopped before that requests the file again after its own gap."""
    found = []
    for host, hits in _gaps(log).items():
        unread = len(list(takewhile(lambda hit: hit[0].target == ROBOTS, hits)))
        for number, (hit, gap_s) in enumerate(hits):
            owed_s = delay_s if number < unread else gaps.get(host, delay_s)
            if gap_s < owed_s - SLACK_S:
                found.append(TooEarly(host, hit.url, gap_s, owed_s))
    return found


def _gaps(log: Sequence[Logged]) -> dict[str, list[tuple[Logged, float]]]:
    """By host: each request but the first, with the gap since the latest end before it."""
    gaps: defaultdict[str, list[tuple[Logged, float]]] = defaultdict(list)
    ended_at: dict[str, Instant] = {}
    for hit in sorted(log, key=lambda hit: hit.asked_at):
        if hit.host in ended_at:
            gaps[hit.host].append((hit, (hit.asked_at - ended_at[hit.host]) / SECOND))
        ended_at[hit.host] = max(hit.ended_at, ended_at.get(hit.host, hit.ended_at))
    return gaps


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> re.Pattern[str]:
    anchored = pattern.endswith("$")
    body = ".*".join(re.escape(part) for part in pattern.removesuffix("$").split("*"))
    return re.compile(body + ("$" if anchored else ""))
