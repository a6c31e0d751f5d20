"""What a perfect crawler finds on a demonstration web, computed from what the web writes."""

import msgspec

from gossamer.demo import odd_answers
from gossamer.demo.compose import item_statements, start_statements
from gossamer.demo.notices import AGENT, UNLISTED, DemoRobots, has_unlisted, sitemap_place, unlisted_path
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
)
from gossamer.demo.sites import Site
from gossamer.demo.things import FactCounts, counts_of
from gossamer.demo.traps import TRAPS, real_paths
from gossamer.demo.web import LEDGERS, DemoWeb

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
    rules = odd_answers.rules_of(host, web.profile) or DemoRobots()
    robots = {OPEN: "missing", CLOSED: "unreachable"}.get(host, "read")
    pages = []
    for odd in oddities(web.trap_pages):
        if odd.host == host:
            counts = counts_of(odd_answers.statements_of(odd), odd.url, "en")
            pages.append(_counted(odd.url, counts, odd.outcomes, odd.via, odd.what))
    shut = (*FORBIDDEN.get(host, ()), *NOT_FOLLOWED.get(host, ()))
    return ExpectedHost(
        host, robots, rules.lines, rules.crawl_delay_s, tuple(pages), tuple(f"http://{host}{path}" for path in shut)
    )


def _counted(
    url: str, counts: FactCounts, outcomes: tuple[str, ...] = FETCHED, via: str = LINK, what: str = ""
) -> ExpectedPage:
    return ExpectedPage(url, outcomes, via, what, counts.facts, counts.rdfa, counts.jsonld, counts.microdata)
