"""The demonstration web itself: any page of it, written when it is asked for and held by nobody."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from html import escape
from itertools import accumulate

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import AddressPlan
from gossamer.base.errors import ConfigError
from gossamer.demo.genres import KINDS
from gossamer.demo.oddities import FLAKY, ODD_HOSTS, odd_answer
from gossamer.demo.pages import DemoAnswer, DemoRequest, Leaf, PageFrame, Way, coded, framed, missing, page, plain
from gossamer.demo.sites import (
    PRIVATE,
    PROFILES,
    RING,
    UNLISTED,
    DemoRobots,
    Profile,
    Site,
    Topic,
    atom,
    feed_head,
    has_unlisted,
    item_page,
    listing_page,
    number_in,
    picture,
    robots_txt,
    rss,
    sitemap,
    sitemap_index,
    sitemap_place,
    start_page,
    unlisted_path,
)
from gossamer.demo.traps import TRAP_HOSTS, trap_answer
from gossamer.demo.words import Draw, paragraph

FEWEST_PAGES = 3
LEDGERS = 3
IN_FEEDS = 20


@dataclass(frozen=True, slots=True)
class DemoWeb:
    """A web by numbers: the same numbers give the same bytes. Memory does not grow with `pages`."""

    seed: int = 1
    hosts: int = 12
    """Ordinary hosts; four awkward ones come on top."""
    pages: int = 600
    """Ordinary pages: start pages, listings and items of the ordinary hosts together; at least three a host."""
    profile_name: str = "demo"
    trap_pages: int = 12
    """How long the one trap is that robots rules leave open."""
    traps: int = 0
    """Real pages on each of the sites without an end (`traps.py`); 0: there are no such sites."""
    turn_s: float = 0.0
    """Ordinary pages change (`changing.py`), in turns of so many seconds, and no link leads to the awkward hosts; 0:
    nothing ever changes."""
    started_at: Instant = 0
    """When a web that changes was as it is without changes."""

    def __post_init__(self) -> None:
        if self.hosts < 1 or self.pages < FEWEST_PAGES * self.hosts:
            raise ConfigError(f"a demonstration web has at least one host, and {FEWEST_PAGES} pages a host")
        if self.profile_name not in PROFILES:
            raise ConfigError(f"no profile {self.profile_name!r}; there are {', '.join(PROFILES)}")

    @property
    def profile(self) -> Profile:
        return PROFILES[self.profile_name]

    @property
    def sites(self) -> tuple[Site, ...]:
        return _sites(self.seed, self.hosts, self.pages)

    @property
    def host_names(self) -> tuple[str, ...]:
        """Every name that resolves."""
        return (*(site.host for site in self.sites), *ODD_HOSTS, *self.trap_hosts)

    @property
    def trap_hosts(self) -> tuple[str, ...]:
        return tuple(TRAP_HOSTS) if self.traps else ()

    @property
    def seeds(self) -> tuple[str, ...]:
        """The start pages of the ordinary hosts; everything else can be reached from any one of them."""
        return tuple(f"{site.origin}/" for site in self.sites)

    def near(self, site: Site, kind: str) -> Site | None:
        place = next(number for number, each in enumerate(KINDS) if each.name == kind)
        for number in (site.ring * RING + place, place):
            if number < len(self.sites):
                return self.sites[number]
        return None

    def item(self, site: Site, number: int) -> Topic:
        language = site.kind.languages[number % len(site.kind.languages)]
        return Topic(site, number, site.kind.name_of(Draw(self.seed, site.host, number), language), language)

    def doors(self, site: Site) -> list[Way]:
        onward = [self.sites[(site.number + step) % self.hosts] for step in (*range(1, 12), RING, 5 * RING)]
        ways: list[Way] = [(f"{each.origin}/", each.title) for each in dict.fromkeys(onward) if each is not site]
        if site.ring == 0 and not self.turn_s:  # how a web changes is seen better without the awkward ones
            ways += [(f"http://{host}/", f"Beware: {host}") for host in (*ODD_HOSTS, *self.trap_hosts)]
        ways += [(f"/private/ledger-{number}", f"Ledger {number}") for number in range(1, LEDGERS + 1)]
        return [*ways, ("/old/brochure", "Our old brochure")]

    def crawl_delay_s(self, site: Site) -> float | None:
        delays = self.profile.crawl_delays_s
        return delays[site.number % len(delays)]

    def rules(self, site: Site) -> DemoRobots:
        return DemoRobots(PRIVATE, self.crawl_delay_s(site))

    def changes_its_mind(self, host: str) -> bool:
        """Whether the answers of this host depend on how often it was asked."""
        return host == FLAKY

    def answer(self, question: DemoRequest) -> DemoAnswer:
        if question.target == "/style.css":
            return plain("body{margin:0}\n", "text/css")
        if question.target.startswith("/images/"):
            return plain(picture(question.target), "image/svg+xml")
        if question.host in ODD_HOSTS:
            return odd_answer(self.seed, self.profile, self.trap_pages, question)
        if question.host in self.trap_hosts:
            return trap_answer(self.seed, self.traps, question)
        site = _by_host(self.seed, self.hosts, self.pages).get(question.host)
        if site is None:
            return missing(421)
        return self._notice(site, question.target) or self._page(site, question)

    def _notice(self, site: Site, target: str) -> DemoAnswer | None:
        place = sitemap_place(site)
        if target == "/robots.txt":
            text = robots_txt(self.rules(site), site.number, site.origin + place)
            return plain(text, "text/plain; charset=utf-8")
        if target == place:
            return plain(sitemap_index(site) if "index" in place else sitemap(self, site), "application/xml")
        if target == "/sitemap-1.xml.gz" and "index" in place:
            body = coded(sitemap(self, site).encode(), "gzip")
            return DemoAnswer(200, (("Content-Type", "application/gzip"),), body)
        if site.kind.name == "blog" and target in ("/feed.rss", "/feed.atom"):
            items = [self.item(site, number) for number in range(min(site.items, IN_FEEDS))]
            write = rss if target.endswith("rss") else atom
            return plain(write(site, items), f"application/{target[6:]}+xml")
        return None

    def _page(self, site: Site, question: DemoRequest) -> DemoAnswer:
        if self.turn_s > 0.0:
            return self._changing_page(site, question)
        html = self._html(site, question.target)
        return missing() if html is None else page(html, question, site.kind.coding, site.kind.is_chunked)

    def turn_at(self, now: Instant) -> int:
        return int(max(0, now - self.started_at) / (self.turn_s * SECOND)) if self.turn_s > 0.0 else 0

    def _changing_page(self, site: Site, question: DemoRequest) -> DemoAnswer:
        """Items, start pages and news change; the others stay as they are."""
        target, turn = question.target, self.turn_at(question.now)
        html = self._html(site, target) or news_page(site, target, turn)
        if html is None:
            return missing()
        if number_in(site.kind.place).fullmatch(target):
            if not is_there(self.seed, site.host, target, turn):
                return missing(410)
            html = changed(html, self.seed, site.host, target, turn, question.now)
        elif target == "/":
            html = with_news(html, turn)
        return page(html, question, site.kind.coding, site.kind.is_chunked, changed=None)

    def _html(self, site: Site, target: str) -> str | None:
        kind = site.kind
        if target == "/":
            return start_page(self, site, feed_head() if kind.name == "blog" else "")
        if found := number_in(kind.listing).fullmatch(target):
            number = int(found[1])
            is_one = 1 <= number <= site.listings and target == kind.listing.format(k=number)
            return listing_page(self, site, number) if is_one else None
        if found := number_in(kind.place).fullmatch(target):
            if (number := int(found[1])) >= site.items:
                return None
            item = self.item(site, number)
            return item_page(self, item) if item.path == target else None
        return self._back_room(site, target)

    def _back_room(self, site: Site, target: str) -> str | None:
        """Pages without facts that stand outside the lists: the private ones, and those only the sitemap knows."""
        private = ["/private/welcome", *(f"/private/ledger-{number}" for number in range(1, LEDGERS + 1))]
        unlisted = [unlisted_path(n) for n in range(1, UNLISTED + 1) if has_unlisted(site)]
        if target not in private and target not in unlisted:
            return None
        draw, language = Draw(self.seed, site.host, target), site.kind.languages[0]
        body = "\n".join(f"<p>{paragraph(draw, self.seed, language)}</p>" for _ in range(draw.between(12, 30)))
        return framed(Leaf(target.strip("/"), language, body), PageFrame(site.title, site.kind.motto, [("/", "Home")]))


@lru_cache(maxsize=8)
def _sites(seed: int, hosts: int, pages: int) -> tuple[Site, ...]:
    """Uneven shares of the pages, adding up exactly."""
    weights = [70 + Draw(seed, "share", number).below(60) for number in range(hosts)]
    spare, total = pages - FEWEST_PAGES * hosts, sum(weights)
    ends = [spare * so_far // total for so_far in accumulate(weights)]
    shares = [FEWEST_PAGES + end - start for start, end in zip([0, *ends], ends, strict=False)]
    return tuple(Site(number, KINDS[number % RING], share) for number, share in enumerate(shares))


@lru_cache(maxsize=8)
def _by_host(seed: int, hosts: int, pages: int) -> dict[str, Site]:
    return {site.host: site for site in _sites(seed, hosts, pages)}


LONGEST = 4
"""Turns between two changes of a page, at the most."""
VANISHES = (2, 6)
"""Turns after which a page that vanishes does so, at the earliest and the latest."""
NEWS_AT_ONCE = 12
"""Links to news on a start page: the newest."""


class Fate(StrEnum):
    """What becomes of a page."""

    STILL = "still"
    ADVERTISES = "advertises"
    DATED = "dated"
    PRICED = "priced"
    PRICED_JSON = "priced-json"
    WRITTEN = "written"
    VANISHES = "vanishes"


_FATES = (
    *[Fate.STILL] * 8, Fate.ADVERTISES, Fate.ADVERTISES, Fate.DATED, Fate.PRICED, Fate.PRICED_JSON, Fate.WRITTEN,
    Fate.VANISHES,
)  # fmt: skip


def fate_of(seed: int, host: str, target: str) -> Fate:
    """Of an item's page."""
    return Draw(seed, host, target, "fate").one(_FATES)


def version_of(seed: int, host: str, target: str, turn: int) -> int:
    """How often the page has changed by then."""
    every = Draw(seed, host, target, "every").between(1, LONGEST)
    return turn // every


def is_there(seed: int, host: str, target: str, turn: int) -> bool:
    if fate_of(seed, host, target) is not Fate.VANISHES:
        return True
    return turn < Draw(seed, host, target, "end").between(*VANISHES)


def price_of(version: int) -> str:
    return f"{19 + version}.90"


def changed(html: str, seed: int, host: str, target: str, turn: int, now: Instant) -> str:
    """The page as it is in that turn."""
    version = version_of(seed, host, target, turn)
    match fate_of(seed, host, target):
        case Fate.ADVERTISES:
            words = f"<p>Offer of the hour, number {version}: buy two, pay for three.</p>"
            return _before(html, "</body>", f'<div class="advertisement" role="complementary">{words}</div>')
        case Fate.DATED:
            today = datetime.fromtimestamp(now // SECOND, UTC)
            return _before(html, "</footer>", f"<p>Printed on {today:%d %B %Y, %H:%M:%S}</p>")
        case Fate.PRICED:
            words = f'Price: <span property="price">{price_of(version)}</span>'
            return _before(html, "</body>", f'<p vocab="http://schema.org/" typeof="Offer">{words}</p>')
        case Fate.PRICED_JSON:
            fact = f'{{"@context":"http://schema.org/","@type":"Offer","price":"{price_of(version)}"}}'
            return _before(html, "</head>", f'<script type="application/ld+json">{fact}</script>')
        case Fate.WRITTEN:
            words = f"Since then a paragraph was written anew, for the {version}. time; nobody knows who asked for it."
            return html.replace('<p class="lead">', f'<p class="lead">{words} ', 1)
        case _:
            return html


def with_news(html: str, turn: int) -> str:
    """A start page, which leads to the newest pages."""
    links = [f'<li><a href="/news/{number}">News {number}</a></li>' for number in newest(turn)]
    return _before(html, "</main>", f"<ul>{''.join(links)}</ul>") if links else html


def newest(turn: int) -> range:
    return range(max(1, turn - NEWS_AT_ONCE + 1), turn + 1)


def news_page(site: Site, target: str, turn: int) -> str | None:
    """`/news/N` is there from turn N on."""
    number = target.removeprefix("/news/")
    if not target.startswith("/news/") or not (number.isascii() and number.isdigit() and 1 <= int(number) <= turn):
        return None
    title = f"News {int(number)} of {escape(site.title)}"
    words = f"This is what happened in turn {int(number)}, and it will not be told again in other words."
    head = f"<!DOCTYPE html><html lang=en><head><title>{title}</title></head>"
    return f"{head}<body><main><p>{words}</p></main></body></html>"


def _before(html: str, mark: str, addition: str) -> str:
    return html.replace(mark, f"{addition}\n{mark}", 1)


def address_plan(web: DemoWeb, port: int) -> AddressPlan:
    """Every host of `web` on port 80; one of the names that pages link to is in no plan and does not resolve."""
    return AddressPlan({name: {80: port} for name in web.host_names})
