"""Compares what a crawl found with what there was to find, and the server's log with what was promised."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import takewhile

import msgspec

from gossamer.base.clock import SECOND
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
from gossamer.demo.pages import FactCounts, counts_of
from gossamer.demo.server import Logged
from gossamer.demo.sites import (
    AGENT,
    UNLISTED,
    DemoRobots,
    Site,
    has_unlisted,
    item_statements,
    sitemap_place,
    start_statements,
    unlisted_path,
)
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED, TRAPS, real_paths
from gossamer.demo.web import LEDGERS, DemoWeb
from gossamer.frontier.reports import every_end
from gossamer.store.directory import Directory
from gossamer.store.state import open_state
from gossamer.views.words.searcher import Searcher

DROPPED = (*FETCHED, "media-type")


class ExpectedPage(msgspec.Struct, frozen=True):
    """One address and how a visit to it must end."""

    url: str
    outcomes: tuple[str, ...] = FETCHED
    """Any of these reason codes (`values.outcome.Reason`) is right."""
    via: str = LINK
    """"link": links from the seeds lead there, and recall counts it. "sitemap", "retry", "trap" and "optional": it
    may be found, and is not missed."""
    what: str = ""
    """The awkward behaviour, if any: "redirect-loop", "wrong-charset", ..."""
    facts: int = 0
    """Distinct triples, by all syntaxes together."""
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
    """Addresses that pages link to and that must never be asked for."""


class ExpectedTrap(msgspec.Struct, frozen=True):
    """A site without an end, and what is worth fetching of it."""

    what: str
    hosts: tuple[str, ...]
    """More than one: they mirror each other, and each page is wanted once."""
    real: tuple[str, ...]
    """Paths of its real pages."""
    void: str = ""
    """A parameter that may be there or not, with any value: it is the same page."""


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
    """Every ordinary page is written once in mind, none is rendered. The agent is `gossamer`."""
    ordinary = tuple(_site(web, site) for site in web.sites)
    lost = (f"http://{NOWHERE}/", f"http://{NOWHERE}/lost")
    nowhere = ExpectedHost(
        NOWHERE, "no-host", pages=tuple(ExpectedPage(url, _LOST, what="no-such-host") for url in lost)
    )
    odd = tuple(_odd(web, host) for host in ODD_HOSTS)
    endless = tuple(ExpectedHost(host, "read") for host in web.trap_hosts)
    hosts = (*ordinary, *odd, *endless, nowhere)
    return Manifest(web.seed, web.profile_name, AGENT, web.seeds, hosts, _traps(web))


def _traps(web: DemoWeb) -> tuple[ExpectedTrap, ...]:
    traps = TRAPS if web.traps else ()
    return tuple(ExpectedTrap(trap.what, trap.hosts, real_paths(trap, web.traps), trap.void) for trap in traps)


_LOST = ("dns", "robots-unreachable")
"""A name that does not resolve fails when its robots.txt is asked for, or at the page itself."""


def _site(web: DemoWeb, site: Site) -> ExpectedHost:
    origin, kind, rules = site.origin, site.kind, web.rules(site)
    pages = [_counted(f"{origin}/", counts_of(start_statements(site), f"{origin}/", kind.languages[0]))]
    pages += [ExpectedPage(origin + kind.listing.format(k=k)) for k in range(1, site.listings + 1)]
    for number in range(site.items):
        item = web.item(site, number)
        pages.append(_counted(item.url, counts_of(item_statements(web, item), item.url, item.language)))
    pages.append(ExpectedPage(f"{origin}/private/welcome", what="robots-exception"))
    pages.append(ExpectedPage(f"{origin}/old/brochure", ("gone",), what="dead-404"))
    extra = ["/style.css", sitemap_place(site)] + (["/feed.rss", "/feed.atom"] if kind.name == "blog" else [])
    pages += [ExpectedPage(origin + path, DROPPED, OPTIONAL) for path in extra]
    if has_unlisted(site):
        pages += [ExpectedPage(origin + unlisted_path(n), via=SITEMAP, what="unlisted") for n in range(1, UNLISTED + 1)]
    ledgers = tuple(f"{origin}/private/ledger-{number}" for number in range(1, LEDGERS + 1))
    return ExpectedHost(site.host, "read", rules.lines, rules.crawl_delay_s, tuple(pages), ledgers)


def _odd(web: DemoWeb, host: str) -> ExpectedHost:
    rules = rules_of(host, web.profile) or DemoRobots()
    robots = {OPEN: "missing", CLOSED: "unreachable"}.get(host, "read")
    pages = []
    for odd in oddities(web.trap_pages):
        if odd.host == host:
            counts = counts_of(statements_of(odd), odd.url, "en")
            pages.append(_counted(odd.url, counts, odd.outcomes, odd.via, odd.what))
    shut = (*FORBIDDEN.get(host, ()), *NOT_FOLLOWED.get(host, ()))
    return ExpectedHost(
        host, robots, rules.lines, rules.crawl_delay_s, tuple(pages), tuple(f"http://{host}{path}" for path in shut)
    )


def _counted(
    url: str, counts: FactCounts, outcomes: tuple[str, ...] = FETCHED, via: str = LINK, what: str = ""
) -> ExpectedPage:
    return ExpectedPage(url, outcomes, via, what, counts.facts, counts.rdfa, counts.jsonld, counts.microdata)


SLACK_S = 0.005
"""Two processes read one clock at slightly different moments."""
ROBOTS = "/robots.txt"
DONE = ("fetched", "unchanged")
SYNTAXES = ("rdfa", "json-ld", "microdata")
"""Those that the demonstration web is written in."""


class CrawledPage(msgspec.Struct, frozen=True):
    """What a crawl says of one address."""

    reason: str
    """The reason code its last visit ended with."""
    facts: int = 0


class TooEarly(msgspec.Struct, frozen=True):
    """A visit that came before the host's gap was over; `gap_s` is negative when the two overlapped."""

    host: str
    url: str
    gap_s: float
    promised_s: float


class WrongEnd(msgspec.Struct, frozen=True):
    url: str
    expected: tuple[str, ...]
    got: str
    """Empty: never visited."""


class WrongFacts(msgspec.Struct, frozen=True):
    url: str
    expected: int
    found: int


class Trapped(msgspec.Struct, frozen=True):
    """What a site without an end cost, by the server's log."""

    what: str
    hosts: tuple[str, ...]
    real: int
    found: int
    wasted: int
    """Visits beside one to each real page and to robots.txt."""

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
    """Told, but no reason to fail: redirects, dead links and failures that ended otherwise than foreseen."""
    found_via: dict[str, int]
    """Pages found that recall does not count, by the way that leads to them."""
    hits: int
    smallest_gap_s: dict[str, float]
    """The shortest rest that each host was given; hosts with two hits or more."""
    traps: tuple[Trapped, ...] = ()

    @property
    def recall(self) -> float:
        return self.pages_found / self.pages_expected if self.pages_expected else 1.0

    @property
    def passes(self) -> bool:
        failings = (self.missing, self.disallowed_fetched, self.politeness_violations, self.wrong_facts)
        return not any(failings) and all(trap.is_escaped for trap in self.traps)


def check(
    manifest: Manifest,
    found: Mapping[str, CrawledPage],
    log: Sequence[Logged],
    delay_s: float,
    syntaxes: Iterable[str] = SYNTAXES,
) -> Verdict:
    """`delay_s` is the crawler's configured gap; `syntaxes` are those whose facts were counted."""
    pages = manifest.pages
    counted = [page for page in pages if page.counts]
    missing = tuple(page.url for page in counted if _reason(found, page) not in page.outcomes)
    read = [page for page in pages if _reason(found, page) in DONE]
    wanted = tuple(syntaxes)
    gaps = {host.name: promised_s(host, delay_s) for host in manifest.hosts}
    return Verdict(
        pages_expected=len(counted),
        pages_found=len(counted) - len(missing),
        missing=missing,
        disallowed_fetched=disallowed(manifest, log),
        politeness_violations=tuple(too_early(log, gaps, delay_s)),
        facts_expected=sum(expected_facts(page, wanted) for page in counted),
        facts_found=sum(found[page.url].facts for page in counted if page.url in found),
        wrong_facts=tuple(
            WrongFacts(page.url, expected_facts(page, wanted), found[page.url].facts)
            for page in read
            if found[page.url].facts != expected_facts(page, wanted)
        ),
        wrong_outcomes=tuple(
            WrongEnd(page.url, page.outcomes, _reason(found, page))
            for page in pages
            if page.via == "link" and not page.counts and _reason(found, page) not in page.outcomes
        ),
        found_via=_found_via(read),
        hits=len(log),
        smallest_gap_s={host: min(gap for _, gap in hits) for host, hits in _gaps(log).items() if hits},
        traps=tuple(trapped(trap, log) for trap in manifest.traps),
    )


def verdict_of(web: DemoWeb, directory: Directory, log: Sequence[Logged], delay_s: float) -> Verdict:
    """What a crawl stored in a directory, against what there was to find."""
    searcher = Searcher(directory.index)
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(open_state(directory)) as state:
        found = {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
    return check(manifest_of(web), found, log, delay_s)


def trapped(trap: ExpectedTrap, log: Iterable[Logged]) -> Trapped:
    """A page that answers under several addresses, or on two hosts, is found once; the other visits are wasted."""
    void = re.compile(rf"[?&]{trap.void}=[^&]*") if trap.void else None
    asked = [hit.target for hit in log if hit.host in trap.hosts and hit.status == 200 and hit.target != ROBOTS]
    plain = [void.sub("", target) for target in asked] if void else asked
    found = set(plain) & set(trap.real)
    return Trapped(trap.what, trap.hosts, len(trap.real), len(found), len(plain) - len(found))


def promised_s(host: ExpectedHost, delay_s: float) -> float:
    return max(delay_s, host.crawl_delay_s or 0.0)


def expected_facts(page: ExpectedPage, syntaxes: Sequence[str]) -> int:
    """REQUIRES: what two syntaxes both state, RDFa and JSON-LD do: Microdata stands alone on its pages."""
    by_syntax = dict(zip(SYNTAXES, (page.rdfa, page.jsonld, page.microdata), strict=True))
    stated_twice = sum(by_syntax.values()) - page.facts
    counted = sum(count for syntax, count in by_syntax.items() if syntax in syntaxes)
    return counted - (stated_twice if {"rdfa", "json-ld"} <= set(syntaxes) else 0)


def disallowed(manifest: Manifest, log: Iterable[Logged]) -> tuple[str, ...]:
    """Addresses in the log that robots rules, an unreadable robots.txt or nofollow forbade; each once."""
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
    """Each visit to a host against the end of the one before it. What its robots.txt asks for is owed once that has
    been read: a crawler that was stopped before it was done asks for the file again after its own gap."""
    found = []
    for host, rests in _gaps(log).items():
        unread = len(list(takewhile(lambda rest: rest[0].target == ROBOTS, rests)))
        for number, (hit, gap_s) in enumerate(rests):
            owed_s = delay_s if number < unread else gaps.get(host, delay_s)
            if gap_s < owed_s - SLACK_S:
                found.append(TooEarly(host, hit.url, gap_s, owed_s))
    return found


def _gaps(log: Sequence[Logged]) -> dict[str, list[tuple[Logged, float]]]:
    by_host: defaultdict[str, list[Logged]] = defaultdict(list)
    for hit in sorted(log, key=lambda hit: hit.asked_at):
        by_host[hit.host].append(hit)
    return {host: _rests(hits) for host, hits in by_host.items()}


def _rests(hits: Sequence[Logged]) -> list[tuple[Logged, float]]:
    """Each hit but the first with the rest before it; overlapping answers count to the latest end so far."""
    rests, ended_at = [], hits[0].ended_at
    for hit in hits[1:]:
        rests.append((hit, (hit.asked_at - ended_at) / SECOND))
        ended_at = max(ended_at, hit.ended_at)
    return rests


def _found_via(read: Iterable[ExpectedPage]) -> dict[str, int]:
    ways: defaultdict[str, int] = defaultdict(int)
    for page in read:
        if not page.counts:
            ways[page.via] += 1
    return dict(ways)


def _reason(found: Mapping[str, CrawledPage], page: ExpectedPage) -> str:
    return found[page.url].reason if page.url in found else ""


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> re.Pattern[str]:
    anchored = pattern.endswith("$")
    body = ".*".join(re.escape(part) for part in pattern.removesuffix("$").split("*"))
    return re.compile(body + ("$" if anchored else ""))
