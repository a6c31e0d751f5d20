"""Writes the pages of the ordinary sites: start pages, listings and items."""

from html import escape
from typing import Protocol

from gossamer.demo.draw import Draw
from gossamer.demo.layout import Leaf, PageFrame, Way, framed
from gossamer.demo.prose import fresh, paragraph, pool
from gossamer.demo.sites import A_LISTING_HOLDS, Site, Topic, World
from gossamer.demo.things import At, Node, Plain, Statements, Syntax

LEADS = {
    "en": "{name} is one of the entries kept by {site}. This page tells what is known about {name}.",
    "de": "{name} gehört zu den Einträgen von {site}. Diese Seite sagt, was über {name} bekannt ist.",
    "fr": "{name} est l'une des notices de {site}. Cette page dit ce que l'on sait de {name}.",
    "es": "{name} es una de las entradas de {site}. Esta página cuenta lo que se sabe de {name}.",
    "ja": "{name}は{site}の項目のひとつである。このページでは{name}について知られていることを述べる。",
}
HOUSE_SYNTAX = {"recipes": Syntax.JSONLD, "shop": Syntax.JSONLD, "blog": Syntax.JSONLD, "forum": Syntax.MICRODATA}


class Wide(World, Protocol):
    """What start pages need beyond `World`. Real one: `DemoWeb`."""

    @property
    def sites(self) -> tuple[Site, ...]: ...

    def doors(self, site: Site) -> list[Way]:
        """Links from a site's start page to the other sites and to the awkward parts of the web."""
        ...


def item_statements(world: World, item: Topic) -> Statements:
    return item.site.kind.describe(world, item, Draw(world.seed, item.site.host, item.number, "facts"))


def item_page(world: Wide, item: Topic) -> str:
    site, draw = item.site, Draw(world.seed, item.site.host, item.number, "text")
    related = [world.item(site, draw.below(site.items)) for _ in range(10)]
    elsewhere = [abroad(world, draw) for _ in range(5)]
    links = [(each.path, each.name) for each in related] + [(each.url, each.name) for each in elsewhere]
    around = [("Previous", (item.number - 1) % site.items), ("Next", (item.number + 1) % site.items)]
    footer = [(world.item(site, number).path, text) for text, number in around]
    leaf = Leaf(
        item.name,
        item.language,
        body_of(world, item, draw, links[:4] + links[-2:]),
        item_statements(world, item),
        pool(world.seed, item.language)[draw.below(2000)],
    )
    return framed(leaf, frame_of(site, links, [*footer, (listing_of(site, item.number), "Back to the list")]))


def body_of(world: World, item: Topic, draw: Draw, links: list[Way]) -> str:
    """Between 6 and 110 paragraphs, most pages having fewer than half of that."""
    lead = LEADS[item.language].format(name=item.name, site=item.site.title)
    share = draw.below(1000) / 1000
    # the rest of the page is made of sentences that other pages have too
    own = fresh(draw, item.language, 2, 4)
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
    parts.append(f"<p>{fresh(draw, item.language, 2, 4)}</p>")
    return "\n".join(parts)


def listing_page(world: World, site: Site, number: int) -> str:
    """The number-th listing, from 1. It leads to its neighbours and to twice its number, so no listing is far away."""
    first = (number - 1) * A_LISTING_HOLDS
    items = [world.item(site, n) for n in range(first, min(first + A_LISTING_HOLDS, site.items))]
    onward = sorted({number - 1, number + 1, 2 * number, 2 * number + 1} & set(range(1, site.listings + 1)))
    draw = Draw(world.seed, site.host, number, "listing")
    teasers = "\n".join([_teaser(world, item, draw) for item in items])
    aside = [(site.kind.listing.format(k=k), f"List {k}") for k in onward]
    language = site.kind.languages[0]
    own = f"<p>{fresh(draw, language)}</p>"
    intro = "\n".join([f"<p>{paragraph(draw, world.seed, language)}</p>" for _ in range(7)])
    leaf = Leaf(f"{site.title}: list {number}", language, f"{own}\n{intro}\n{teasers}\n{own}")
    return framed(leaf, frame_of(site, aside, []))


def start_statements(site: Site) -> Statements:
    if site.kind.name == "docs":
        return Statements()
    thing = Node(
        "Organization",
        (("name", Plain(site.title)), ("slogan", Plain(site.kind.motto)), ("url", At(f"{site.origin}/"))),
        f"{site.origin}/#us",
    )
    return Statements(((HOUSE_SYNTAX.get(site.kind.name, Syntax.RDFA), thing),))


def start_page(world: Wide, site: Site, head: str) -> str:
    draw, language = Draw(world.seed, site.host, "start"), site.kind.languages[0]
    lists = [(site.kind.listing.format(k=k), f"List {k}") for k in range(1, min(site.listings, 12) + 1)]
    chosen = [world.item(site, draw.below(site.items)) for _ in range(8)]
    text = "\n".join([f"<p>{paragraph(draw, world.seed, language)}</p>" for _ in range(8)])
    teasers = "\n".join([_teaser(world, item, draw) for item in chosen])
    leaf = Leaf(site.title, language, f"{text}\n{teasers}", start_statements(site), site.kind.motto)
    return framed(leaf, frame_of(site, lists, world.doors(site), head))


def abroad(world: Wide, draw: Draw) -> Topic:
    site = draw.one(world.sites)
    return world.item(site, draw.below(site.items))


def frame_of(site: Site, aside: list[Way], footer: list[Way], head: str = "") -> PageFrame:
    lists = [(site.kind.listing.format(k=k), f"List {k}") for k in range(1, min(site.listings, 6) + 1)]
    navigation = [("/", "Home"), *lists, ("/private/welcome", "Members"), ("/#top", "Top")]
    house = [("/private/ledger-1", "Ledger"), ("mailto:desk@demo.test", "Write to us"), ("/style.css", "Style")]
    return PageFrame(site.title, site.kind.motto, navigation, aside, [*footer, *house], head)


def listing_of(site: Site, item: int) -> str:
    return site.kind.listing.format(k=item // A_LISTING_HOLDS + 1)


def _teaser(world: World, item: Topic, draw: Draw) -> str:
    words = paragraph(draw, world.seed, item.language, 2, 4)
    picture = f'<img src="{escape(item.image)}" alt="" width="160" height="120" loading="lazy">'
    return (
        f'<div class="teaser"><a href="{escape(item.path)}">{picture}</a>'
        f'<h3><a href="{escape(item.path)}">{escape(item.name)}</a></h3><p>{words}</p></div>'
    )
