"""What a site says to programs: robots.txt, sitemaps, feeds; and its pictures."""

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from gossamer.demo.draw import Draw
from gossamer.demo.sites import Site, Topic, World

AGENT = "gossamer"
LONGEST_SITEMAP = 10_000
UNLISTED = 3
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


class DemoRobots(NamedTuple):
    """The robots rules that hold for us on a host, as pairs (allows, pattern)."""

    lines: tuple[tuple[bool, str], ...] = ()
    crawl_delay_s: float | None = None


PRIVATE = ((False, "/private/"), (True, "/private/welcome"))
_STYLES = 4
"""How many differently written robots.txt there are."""


def robots_txt(rules: DemoRobots, style: int, sitemap: str = "") -> str:
    """One robots.txt; `style` chooses how it is written, never what it means to us (RFC 9309)."""
    lines = (
        "\n".join(f"{'Allow' if allows else 'Disallow'}: {pattern}" for allows, pattern in rules.lines) or "Disallow:"
    )
    delay = f"\nCrawl-delay: {rules.crawl_delay_s:g}" if rules.crawl_delay_s is not None else ""
    ours = f"{lines}{delay}"
    match style % _STYLES:
        case 0:
            text = f"User-agent: *\n{ours}\n"
        case 1:  # a group of our own: the rules for everybody else do not concern us
            text = f"User-agent: *\nDisallow: /\n\nUser-agent: Gossamer\n{ours}\n"
        case 2:  # several agents to a group, and a group that must not be read as ours
            others = "User-agent: badbot\nUser-agent: worsebot\nDisallow: /"
            text = f"{others}\n\nUser-Agent: otherbot\nUser-Agent: *\n{ours}\n"
        case _:  # comments, odd case, spaces
            shouted = ours.replace("Disallow", "DISALLOW")
            text = f"# Welcome, robots.\nUSER-AGENT : *   # everybody\n{shouted}\nHost: nobody\n"
    return text + (f"\nSitemap: {sitemap}\n" if sitemap else "")


def unlisted_path(number: int) -> str:
    return f"/unlisted/{number}"


def has_unlisted(site: Site) -> bool:
    """Whether the site has pages that only its sitemap knows of."""
    return site.number % 3 == 0


def sitemap_place(site: Site) -> str:
    return "/sitemap-index.xml" if site.kind.name == "events" else "/sitemap.xml"


def sitemap(world: World, site: Site) -> str:
    addresses = [f"{site.origin}/"]
    addresses += [site.origin + unlisted_path(n) for n in range(1, UNLISTED + 1) if has_unlisted(site)]
    addresses += [world.item(site, n).url for n in range(min(site.items, LONGEST_SITEMAP))]
    return _urlset(addresses, Draw(world.seed, site.host, "sitemap"))


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


def feed_head() -> str:
    return (
        '<link rel="alternate" type="application/rss+xml" href="/feed.rss" title="RSS">\n'
        '<link rel="alternate" type="application/atom+xml" href="/feed.atom" title="Atom">\n'
    )


def picture(name: str) -> str:
    """A small abstract picture, the same for the same name."""
    draw = Draw("picture", name)
    shapes = "".join(
        f'<circle cx="{draw.below(320)}" cy="{draw.below(240)}" r="{draw.between(12, 90)}" '
        f'fill="hsl({draw.below(360)} 60% 55%)" fill-opacity="0.6"/>'
        for _ in range(7)
    )
    sheet = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 240">'
    return f'{sheet}<rect width="320" height="240" fill="#f4f0e4"/>{shapes}</svg>'


def _urlset(addresses: Iterable[str], draw: Draw) -> str:
    entries = "".join(
        f"<url><loc>{escape(address)}</loc><lastmod>202{draw.below(6)}-0{draw.between(1, 9)}-15</lastmod>"
        f"<changefreq>{draw.one(('daily', 'weekly', 'monthly'))}</changefreq>"
        f"<priority>0.{draw.between(1, 9)}</priority></url>\n"
        for address in addresses
    )
    return f'{_XML}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
