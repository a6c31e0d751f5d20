"""The pages of ordinary sites.

Start pages, listings, items, robots.txt, sitemaps, feeds and pictures.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import NamedTuple

from gossamer.demo.genres import A_LISTING_HOLDS, Site, Topic, World
from gossamer.demo.pages import At, Leaf, NavLink, Node, PageFrame, Plain, Statements, Syntax, framed
from gossamer.demo.words import LANGUAGES, Draw, new_paragraph, paragraph, pool


@lru_cache(maxsize=256)
def number_in(template: str) -> re.Pattern[str]:
    """A pattern that finds the number in a path made from `template`."""
    escaped = re.escape(template)
    return re.compile(re.sub(r"\\\{[nk]\\\}", r"(\\d{1,9})", escaped).replace(r"\{slug\}", "[^/?]+"))


AGENT = "gossamer"
LONGEST_SITEMAP = 10_000
UNLISTED = 3
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


class DemoRobots(NamedTuple):
    """The robots.txt rules that apply to our agent, as pairs (allows, pattern)."""

    lines: tuple[tuple[bool, str], ...] = ()
    crawl_delay_s: float | None = None


PRIVATE = ((False, "/private/"), (True, "/private/welcome"))


def robots_txt(rules: DemoRobots, style: int, sitemap: str = "") -> str:
    """A robots.txt; `style` varies how it is written, not what it means for our agent (RFC 9309)."""
    ours = "\n".join([f"{'Allow' if allows else 'Disallow'}: {path}" for allows, path in rules.lines]) or "Disallow:"
    if rules.crawl_delay_s is not None:
        ours += f"\nCrawl-delay: {rules.crawl_delay_s:g}"
    match style % 4:
        case 0:
            text = f"User-agent: *\n{ours}\n"
        case 1:  # a group for our agent: the rules for others do not apply
            text = f"User-agent: *\nDisallow: /\n\nUser-agent: Gossamer\n{ours}\n"
        case 2:  # several agents in a group, and a group that is not for our agent
            others = "User-agent: badbot\nUser-agent: worsebot\nDisallow: /"
            text = f"{others}\n\nUser-Agent: otherbot\nUser-Agent: *\n{ours}\n"
        case _:  # comments, odd case, spaces
            shouted = ours.replace("Disallow", "DISALLOW")
            text = f"# Welcome, robots.\nUSER-AGENT : *   # everybody\n{shouted}\nHost: nobody\n"
    return text + (f"\nSitemap: {sitemap}\n" if sitemap else "")


def unlisted_paths(site: Site) -> list[str]:
    """Pages that only the sitemap lists; every third site has some."""
    return [f"/unlisted/{number}" for number in range(1, UNLISTED + 1)] if site.number % 3 == 0 else []


def sitemap_place(site: Site) -> str:
    return "/sitemap-index.xml" if site.kind.name == "events" else "/sitemap.xml"


def sitemap(world: World, site: Site) -> str:
    urls = [f"{site.origin}/", *(site.origin + path for path in unlisted_paths(site))]
    urls += [world.item(site, n).url for n in range(min(site.items, LONGEST_SITEMAP))]
    draw = Draw(world.seed, site.host, "sitemap")
    entries = "".join(
        f"<url><loc>{escape(url)}</loc><lastmod>202{draw.below(6)}-0{draw.between(1, 9)}-15</lastmod>"
        f"<changefreq>{draw.one(('daily', 'weekly', 'monthly'))}</changefreq>"
        f"<priority>0.{draw.between(1, 9)}</priority></url>\n"
        for url in urls
    )
    return f'{_XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'


def sitemap_index(site: Site) -> str:
    return (
        f'{_XML}<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<sitemap><loc>{site.origin}/sitemap-1.xml.gz</loc></sitemap></sitemapindex>\n"
    )


def rss(site: Site, items: Iterable[Topic]) -> str:
    entries = "".join(
        f"<item><title>{escape(item.name)}</title><link>{escape(item.url)}</link><guid>{escape(item.url)}</guid>"
        f"<description>{escape(item.name)}, {escape(site.kind.motto)}</description></item>\n"
        for item in items
    )
    return (
        f'{_XML}<rss version="2.0"><channel><title>{escape(site.title)}</title>'
        f"<link>{site.origin}/</link><description>{escape(site.kind.motto)}</description><ttl>60</ttl>\n{entries}</channel></rss>\n"
    )


def atom(site: Site, items: Iterable[Topic]) -> str:
    entries = "".join(
        f'<entry><title>{escape(item.name)}</title><link href="{escape(item.url)}"/><id>{escape(item.url)}</id>'
        f"<updated>2025-01-{1 + item.number % 28:02d}T08:00:00Z</updated></entry>\n"
        for item in items
    )
    return (
        f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(site.title)}</title>'
        f"<id>{site.origin}/</id><updated>2025-02-01T08:00:00Z</updated>\n{entries}</feed>\n"
    )


FEED_LINKS = (
    '<link rel="alternate" type="application/rss+xml" href="/feed.rss" title="RSS">\n'
    '<link rel="alternate" type="application/atom+xml" href="/feed.atom" title="Atom">\n'
)


def picture(name: str) -> str:
    """A small abstract picture, always the same for a name."""
    draw = Draw("picture", name)
    shapes = "".join(
        f'<circle cx="{draw.below(320)}" cy="{draw.below(240)}" r="{draw.between(12, 90)}" '
        f'fill="hsl({draw.below(360)} 60% 55%)" fill-opacity="0.6"/>'
        for _ in range(7)
    )
    sheet = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 240">'
    return f'{sheet}<rect width="320" height="240" fill="#f4f0e4"/>{shapes}</svg>'


HOUSE_SYNTAX = {"recipes": Syntax.JSONLD, "shop": Syntax.JSONLD, "blog": Syntax.JSONLD, "forum": Syntax.MICRODATA}


def item_page(world: World, item: Topic) -> str:
    site, draw = item.site, Draw(world.seed, item.site.host, item.number, "text")
    related = [world.item(site, draw.below(site.items)) for _ in range(10)]
    abroad = [world.item(there, draw.below(there.items)) for there in (draw.one(world.sites) for _ in range(5))]
    links = [(each.path, each.name) for each in related] + [(each.url, each.name) for each in abroad]
    around = [("Previous", (item.number - 1) % site.items), ("Next", (item.number + 1) % site.items)]
    footer = [(world.item(site, number).path, text) for text, number in around]
    back = site.kind.listing.format(k=item.number // A_LISTING_HOLDS + 1)
    leaf = Leaf(
        item.name,
        item.language,
        body_of(world, item, draw, links[:4] + links[-2:]),
        world.statements_of(item),
        pool(world.seed, item.language)[draw.below(2000)],
    )
    return framed(leaf, frame_of(site, links, [*footer, (back, "Back to the list")]))


def body_of(world: World, item: Topic, draw: Draw, links: list[NavLink]) -> str:
    """Between 6 and 110 paragraphs; most pages have fewer than 55."""
    lead = LANGUAGES[item.language].lead.format(name=item.name, site=item.site.title)
    share = draw.below(1000) / 1000
    # the other sentences are on other pages too
    own = new_paragraph(draw, item.language, 2, 4)
    parts = [f'<p class="lead"><strong>{escape(lead)}</strong> {own}</p>']
    for number in range(6 + int(104 * share**1.3)):
        if number % 6 == 5:
            parts.append(f"<h2>{paragraph(draw, world.seed, item.language, 1, 1).rstrip('.。')}</h2>")
        words = paragraph(draw, world.seed, item.language)
        if number < len(links):
            href, text = links[number]
            words += f' <a href="{escape(href)}">{escape(text)}</a>'
        elif number % 3 == 0:
            words = f"<em>{escape(item.name)}.</em> {words}"
        parts.append(f"<p>{words}</p>")
    parts.append(f"<p>{new_paragraph(draw, item.language, 2, 4)}</p>")
    return "\n".join(parts)


def listing_page(world: World, site: Site, number: int) -> str:
    """A listing, counted from 1. It links to its neighbours and to twice its number, so that no listing is far away."""
    first = (number - 1) * A_LISTING_HOLDS
    items = [world.item(site, n) for n in range(first, min(first + A_LISTING_HOLDS, site.items))]
    onward = sorted({number - 1, number + 1, 2 * number, 2 * number + 1} & set(range(1, site.listings + 1)))
    draw = Draw(world.seed, site.host, number, "listing")
    teasers = "\n".join([_teaser(world, item, draw) for item in items])
    aside = [(site.kind.listing.format(k=k), f"List {k}") for k in onward]
    language = site.kind.languages[0]
    own = f"<p>{new_paragraph(draw, language)}</p>"
    intro = "\n".join([f"<p>{paragraph(draw, world.seed, language)}</p>" for _ in range(7)])
    leaf = Leaf(f"{site.title}: list {number}", language, f"{own}\n{intro}\n{teasers}\n{own}")
    return framed(leaf, frame_of(site, aside, []))


def start_statements(site: Site) -> Statements:
    if site.kind.name == "docs":
        return Statements()
    entity = Node(
        "Organization",
        (("name", Plain(site.title)), ("slogan", Plain(site.kind.motto)), ("url", At(f"{site.origin}/"))),
        f"{site.origin}/#us",
    )
    return Statements(((HOUSE_SYNTAX.get(site.kind.name, Syntax.RDFA), entity),))


def start_page(world: World, site: Site, links_onward: list[NavLink]) -> str:
    draw, language = Draw(world.seed, site.host, "start"), site.kind.languages[0]
    lists = [(site.kind.listing.format(k=k), f"List {k}") for k in range(1, min(site.listings, 12) + 1)]
    chosen = [world.item(site, draw.below(site.items)) for _ in range(8)]
    text = "\n".join([f"<p>{paragraph(draw, world.seed, language)}</p>" for _ in range(8)])
    teasers = "\n".join([_teaser(world, item, draw) for item in chosen])
    leaf = Leaf(site.title, language, f"{text}\n{teasers}", start_statements(site), site.kind.motto)
    return framed(leaf, frame_of(site, lists, links_onward, FEED_LINKS if site.kind.name == "blog" else ""))


def frame_of(site: Site, aside: list[NavLink], footer: list[NavLink], head: str = "") -> PageFrame:
    lists = [(site.kind.listing.format(k=k), f"List {k}") for k in range(1, min(site.listings, 6) + 1)]
    navigation = [("/", "Home"), *lists, ("/private/welcome", "Members"), ("/#top", "Top")]
    house = [("/private/ledger-1", "Ledger"), ("mailto:desk@demo.test", "Write to us"), ("/style.css", "Style")]
    return PageFrame(site.title, site.kind.motto, navigation, aside, [*footer, *house], head)


def _teaser(world: World, item: Topic, draw: Draw) -> str:
    words = paragraph(draw, world.seed, item.language, 2, 4)
    picture = f'<img src="{escape(item.image)}" alt="" width="160" height="120" loading="lazy">'
    return (
        f'<div class="teaser"><a href="{escape(item.path)}">{picture}</a>'
        f'<h3><a href="{escape(item.path)}">{escape(item.name)}</a></h3><p>{words}</p></div>'
    )


class Profile(NamedTuple):
    crawl_delays_s: tuple[float | None, ...]
    """Of the ordinary hosts, in turn; the flaky host has the second one. None: robots.txt has no Crawl-delay."""
    slow_s: float
    """How long a slow server takes to respond."""
    retry_after_s: int


PROFILES = {
    "demo": Profile((None, 0.5, None, 0.4, 0.25), 1.2, 1),  # slow enough to watch a crawl of 600 pages
    "crash": Profile((None, 2.0, 0.5), 1.0, 2),  # gaps long enough to see whether a restart keeps them
    "quick": Profile((None, 0.05, None), 0.1, 1),  # for tests
}
