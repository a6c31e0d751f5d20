"""The demonstration web: each page is generated when it is requested."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from html import escape

from gossamer.base.clock import SECOND, Instant
from gossamer.base.environment import AddressPlan
from gossamer.base.errors import ConfigError
from gossamer.demo import pages, sites
from gossamer.demo.genres import FEWEST_PAGES, RING, Site, World
from gossamer.demo.oddities import FLAKY, ODD_HOSTS, odd_answer
from gossamer.demo.traps import TRAP_HOSTS, trap_answer
from gossamer.demo.words import Draw, paragraph

LEDGERS = tuple(f"/private/ledger-{number}" for number in (1, 2, 3))
IN_FEEDS = 20


@dataclass(frozen=True, slots=True)
class DemoWeb(World):
    """A web made from a few numbers: the same numbers give the same bytes. Memory does not grow with `pages`."""

    profile_name: str = "demo"
    trap_pages: int = 12
    """The length of the one trap that robots.txt does not forbid."""
    traps: int = 0
    """Real pages on each trap site (`traps.py`); 0: there are no such sites."""
    turn_s: float = 0.0
    """Ordinary pages change once per turn of this length, and no link leads to the odd hosts; 0: nothing changes."""
    started_at: Instant = 0
    """When the first turn of a changing web starts."""

    def __post_init__(self) -> None:
        if self.hosts < 1 or self.pages < FEWEST_PAGES * self.hosts:
            raise ConfigError(f"a demonstration web has at least one host, and {FEWEST_PAGES} pages a host")
        if self.profile_name not in sites.PROFILES:
            raise ConfigError(f"no profile {self.profile_name!r}; there are {', '.join(sites.PROFILES)}")

    @property
    def profile(self) -> sites.Profile:
        return sites.PROFILES[self.profile_name]

    @property
    def host_names(self) -> tuple[str, ...]:
        """Every name that resolves."""
        return (*(site.host for site in self.sites), *ODD_HOSTS, *self.trap_hosts)

    @property
    def trap_hosts(self) -> tuple[str, ...]:
        return tuple(TRAP_HOSTS) if self.traps else ()

    @property
    def seeds(self) -> tuple[str, ...]:
        """The start pages of the ordinary hosts; every other page can be reached from any of them."""
        return tuple(f"{site.origin}/" for site in self.sites)

    def links_onward(self, site: Site) -> list[pages.NavLink]:
        onward = [self.sites[(site.number + step) % self.hosts] for step in (*range(1, 12), RING, 5 * RING)]
        links: list[pages.NavLink] = [
            *dict.fromkeys((f"{each.origin}/", each.title) for each in onward if each is not site)
        ]
        if site.ring == 0 and not self.turn_s:  # odd hosts would only distract from the changes
            links += [(f"http://{host}/", f"Beware: {host}") for host in (*ODD_HOSTS, *self.trap_hosts)]
        links += [(path, f"Ledger {number}") for number, path in enumerate(LEDGERS, 1)]
        return [*links, ("/old/brochure", "Our old brochure")]

    def rules(self, site: Site) -> sites.DemoRobots:
        delays = self.profile.crawl_delays_s
        return sites.DemoRobots(sites.PRIVATE, delays[site.number % len(delays)])

    def has_state(self, host: str) -> bool:
        """Whether the responses of this host depend on how often a URL was requested."""
        return host == FLAKY

    def answer(self, question: pages.DemoRequest) -> pages.DemoAnswer:
        if question.target == "/style.css":
            return pages.plain("body{margin:0}\n", "text/css")
        if question.target.startswith("/images/"):
            return pages.plain(sites.picture(question.target), "image/svg+xml")
        if question.host in ODD_HOSTS:
            return odd_answer(self.seed, self.profile, self.trap_pages, question)
        if question.host in self.trap_hosts:
            return trap_answer(self.seed, self.traps, question)
        site = self.site_of(question.host)
        if site is None:
            return pages.missing(421)
        return self._notice(site, question.target) or self._page(site, question)

    def _notice(self, site: Site, target: str) -> pages.DemoAnswer | None:
        place = sites.sitemap_place(site)
        if target == "/robots.txt":
            text = sites.robots_txt(self.rules(site), site.number, site.origin + place)
            return pages.plain(text, "text/plain; charset=utf-8")
        if target == place:
            return pages.plain(
                sites.sitemap_index(site) if "index" in place else sites.sitemap(self, site), "application/xml"
            )
        if target == "/sitemap-1.xml.gz" and "index" in place:
            body = pages.coded(sites.sitemap(self, site).encode(), "gzip")
            return pages.DemoAnswer(200, (("Content-Type", "application/gzip"),), body)
        if site.kind.name == "blog" and target in ("/feed.rss", "/feed.atom"):
            items = [self.item(site, number) for number in range(min(site.items, IN_FEEDS))]
            write = sites.rss if target.endswith("rss") else sites.atom
            return pages.plain(write(site, items), f"application/{target[6:]}+xml")
        return None

    def turn_at(self, now: Instant) -> int:
        return int(max(0, now - self.started_at) / (self.turn_s * SECOND)) if self.turn_s > 0.0 else 0

    def _page(self, site: Site, question: pages.DemoRequest) -> pages.DemoAnswer:
        """On a changing web, items, start pages and news change; other pages do not."""
        target, turn = question.target, self.turn_at(question.now)
        html = self._html(site, target) or news_page(site, target, turn)
        if html is None:
            return pages.missing()
        if self.turn_s and sites.number_in(site.kind.place).fullmatch(target):
            if not is_there(self.seed, site.host, target, turn):
                return pages.missing(410)
            html = changed(html, self.seed, site.host, target, turn, question.now)
        elif target == "/":
            html = with_news(html, turn)
        return pages.page(
            html, question, site.kind.coding, site.kind.is_chunked, None if self.turn_s else pages.CHANGED
        )

    def _html(self, site: Site, target: str) -> str | None:
        kind = site.kind
        if target == "/":
            return sites.start_page(self, site, self.links_onward(site))
        if found := sites.number_in(kind.listing).fullmatch(target):
            number = int(found[1])
            is_one = 1 <= number <= site.listings and target == kind.listing.format(k=number)
            return sites.listing_page(self, site, number) if is_one else None
        if found := sites.number_in(kind.place).fullmatch(target):
            if (number := int(found[1])) >= site.items:
                return None
            item = self.item(site, number)
            return sites.item_page(self, item) if item.path == target else None
        return self._unlisted(site, target)

    def _unlisted(self, site: Site, target: str) -> str | None:
        """Pages without facts that no listing has: the private ones, and those that only the sitemap lists."""
        if target not in ("/private/welcome", *LEDGERS, *sites.unlisted_paths(site)):
            return None
        draw, language = Draw(self.seed, site.host, target), site.kind.languages[0]
        body = "\n".join(f"<p>{paragraph(draw, self.seed, language)}</p>" for _ in range(draw.between(12, 30)))
        frame = pages.PageFrame(site.title, site.kind.motto, [("/", "Home")])
        return pages.framed(pages.Leaf(target.strip("/"), language, body), frame)


NEWS_AT_ONCE = 12
"""Links to the newest news on a start page."""


class Fate(StrEnum):
    """How an item's page of a changing web develops."""

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
    return Draw(seed, host, target, "fate").one(_FATES)


def version_of(seed: int, host: str, target: str, turn: int) -> int:
    """How often the page has changed by that turn; at least once in four turns."""
    return turn // Draw(seed, host, target, "every").between(1, 4)


def is_there(seed: int, host: str, target: str, turn: int) -> bool:
    """Pages that vanish do so after 2 to 6 turns."""
    vanishes = fate_of(seed, host, target) is Fate.VANISHES
    return not vanishes or turn < Draw(seed, host, target, "end").between(2, 6)


def price_of(version: int) -> str:
    return f"{19 + version}.90"


def changed(html: str, seed: int, host: str, target: str, turn: int, now: Instant) -> str:
    """The page as it is in that turn: its item's page, changed."""
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
            words = f"Since then a paragraph was rewritten, for the {version}. time; no one knows who asked for that."
            return html.replace('<p class="lead">', f'<p class="lead">{words} ', 1)
        case _:
            return html


def with_news(html: str, turn: int) -> str:
    """A start page with links to the newest pages."""
    newest = range(max(1, turn - NEWS_AT_ONCE + 1), turn + 1)
    links = [f'<li><a href="/news/{number}">News {number}</a></li>' for number in newest]
    return _before(html, "</main>", f"<ul>{''.join(links)}</ul>") if links else html


def news_page(site: Site, target: str, turn: int) -> str | None:
    """`/news/N` exists from turn N on."""
    number = target.removeprefix("/news/")
    if not target.startswith("/news/") or not (number.isascii() and number.isdigit() and 1 <= int(number) <= turn):
        return None
    title = f"News {int(number)} of {escape(site.title)}"
    words = f"This is what happened in turn {int(number)}, and it will not be reported again in other words."
    head = f"<!DOCTYPE html><html lang=en><head><title>{title}</title></head>"
    return f"{head}<body><main><p>{words}</p></main></body></html>"


def _before(html: str, mark: str, addition: str) -> str:
    return html.replace(mark, f"{addition}\n{mark}", 1)


def address_plan(web: DemoWeb, port: int) -> AddressPlan:
    """Every host of `web` on port 80. One host that pages link to is left out: it does not resolve."""
    return AddressPlan({name: {80: port} for name in web.host_names})
