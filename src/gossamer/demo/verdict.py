"""Compares what a crawl found with what there was to find, and the server's log with what was promised."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

import msgspec

from gossamer.base.clock import SECOND
from gossamer.demo.accesslog import Logged
from gossamer.demo.manifest import ExpectedHost, ExpectedPage, ExpectedTrap, Manifest
from gossamer.demo.traps import LEAST_FOUND, MOST_WASTED

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
