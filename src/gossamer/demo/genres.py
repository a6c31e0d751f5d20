"""The sites of the demonstration web.

There are twelve kinds of site (`sites.toml`), their items, and what these state.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as packaged
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from gossamer.demo.pages import DOMAIN, NOTHING, At, Day, Node, Number, Plain, Statements, Syntax, Value
from gossamer.demo.words import LISTS, Draw, fill, with_capital

FEWEST_PAGES = 3
A_LISTING_HOLDS = 24


class Genre(msgspec.Struct, frozen=True):
    name: str
    title: str
    motto: str
    languages: tuple[str, ...]
    """Of its items, in turn."""
    place: str
    """The path of item {n}; {slug} is made from its name."""
    listing: str
    """The path of the {k}-th list of items, counted from 1."""
    names: dict[str, tuple[str, ...]]
    """By language: patterns of its items' names (`words.fill`)."""
    coding: str = ""
    """The content coding it prefers, when the client takes it."""
    is_chunked: bool = False


class Site(NamedTuple):
    number: int
    kind: Genre
    pages: int

    @property
    def host(self) -> str:
        return f"{self.kind.name}{f'-{self.ring + 1}' if self.ring else ''}.{DOMAIN}"

    @property
    def ring(self) -> int:
        """A ring is one site of each kind; the sites of a ring mention each other's people and places."""
        return self.number // RING

    @property
    def title(self) -> str:
        return f"{self.kind.title} {self.ring + 1}" if self.ring else self.kind.title

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def listings(self) -> int:
        return -(-(self.pages - 1) // (A_LISTING_HOLDS + 1))

    @property
    def items(self) -> int:
        return self.pages - 1 - self.listings


class Topic(NamedTuple):
    """One entity that a site has a page about."""

    site: Site
    number: int
    name: str
    language: str

    @property
    def path(self) -> str:
        return self.site.kind.place.format(slug=slug_of(self.name), n=self.number)

    @property
    def url(self) -> str:
        return self.site.origin + self.path

    @property
    def iri(self) -> str:
        """The entity itself, as opposed to the page about it."""
        return f"{self.url}#it"

    @property
    def image(self) -> str:
        return f"{self.site.origin}/images/{self.site.kind.name}-{self.number}.svg"


@lru_cache(maxsize=4096)
def slug_of(name: str) -> str:
    """ASCII where the name has any; otherwise percent-coded UTF-8, as sites in other scripts do."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or quote(name)


@dataclass(frozen=True, slots=True)
class World:
    """The ordinary sites of a web and their items, computed from three numbers."""

    seed: int = 1
    hosts: int = 12
    """Ordinary hosts; four odd ones are added."""
    pages: int = 600
    """Start pages, listings and items of the ordinary hosts together; at least three a host."""

    @property
    def sites(self) -> tuple[Site, ...]:
        return _sites(self.seed, self.hosts, self.pages)

    def site_of(self, host: str) -> Site | None:
        return _by_host(self.seed, self.hosts, self.pages).get(host)

    def near(self, site: Site, kind: str) -> Site | None:
        """The site of that kind in the same ring, else in the first; None when this web is too small to have one."""
        index = next(number for number, each in enumerate(KINDS) if each.name == kind)
        for number in (site.ring * RING + index, index):
            if number < len(self.sites):
                return self.sites[number]
        return None

    def item(self, site: Site, number: int) -> Topic:
        language = site.kind.languages[number % len(site.kind.languages)]
        patterns, draw = site.kind.names[language], Draw(self.seed, site.host, number)
        pattern = draw.one(patterns) if len(patterns) > 1 else patterns[0]
        return Topic(site, number, with_capital(fill(draw, pattern)), language)

    def statements_of(self, item: Topic) -> Statements:
        author = Author(self, item, Draw(self.seed, item.site.host, item.number, "facts"))
        return DESCRIPTIONS[item.site.kind.name](author)


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


class Author(NamedTuple):
    """Writes what one item states."""

    world: World
    item: Topic
    draw: Draw

    def text(self, pattern: str) -> Plain:
        return Plain(fill(self.draw, pattern))

    def day(self, pattern: str = "202{0-5}-{1-12:02d}-{1-28:02d}") -> Day:
        return Day(fill(self.draw, pattern))

    def some_person(self) -> Node:
        """A person of the ring's people site, so that names recur across sites; unnamed without one."""
        people = self.world.near(self.item.site, "people")
        if people is None or not people.items:
            return Node("Person", (("name", Plain("Unknown hand")),))
        person = self.world.item(people, self.draw.below(people.items))
        return Node("Person", (("name", Plain(person.name)), ("url", At(person.url))), person.iri)

    def about(self, kind: str, *says: tuple[str, Value]) -> Node:
        """The page's subject: its name and picture first, then its other properties."""
        item = self.item
        return Node(kind, (("name", Plain(item.name)), ("image", At(item.image)), *says), item.iri)

    def social(self, kind: str = "") -> tuple[tuple[str, str], ...]:
        """Open Graph properties: the title; with a kind, also the kind and the picture."""
        title = ("og:title", self.item.name)
        return (title, ("og:type", kind), ("og:image", self.item.image)) if kind else (title,)


def named(kind: str, name: Plain, *says: tuple[str, Value]) -> Node:
    return Node(kind, (("name", name), *says))


def artwork(by: Author) -> Statements:
    entity = by.about(
        "VisualArtwork",
        ("creator", by.some_person()),
        ("dateCreated", by.text("{1480-2015}")),
        ("artMedium", by.text("{MATERIALS}")),
        ("artform", by.text("{painting|sculpture|print|textile|drawing}")),
        ("width", by.text("{12-320} cm")),
        ("height", by.text("{12-320} cm")),
        ("locationCreated", named("Place", by.text("{TOWNS}"))),
        ("description", Plain(f"{by.item.name}, {fill(by.draw, '{adj} and {adj}')}.")),
        ("identifier", Plain(f"HM-{by.draw.between(1000, 9999)}.{by.item.number}")),
    )
    return Statements(((Syntax.RDFA, entity),), by.social("article"))


def person(by: Author) -> Statements:
    draw, item = by.draw, by.item
    born = draw.between(1930, 2001)
    known = {draw.below(item.site.items) for _ in range(draw.between(2, 5))} - {item.number}
    town, country = by.text("{TOWNS}"), by.text("{COUNTRIES}")
    house = by.text("{TOWNS} {Institute|Academy|Works|Press}")
    entity = by.about(
        "Person",
        ("jobTitle", by.text("{JOBS}")),
        ("birthDate", by.day(f"{born}-{{1-12:02d}}-{{1-28:02d}}")),
        ("birthPlace", named("Place", town, ("address", country))),
        ("worksFor", named("Organization", house)),
        ("nationality", by.text("{COUNTRIES}")),
        ("foaf:nick", Plain(item.name.split()[0].lower() + str(born % 100))),
        *(("foaf:knows", At(by.world.item(item.site, number).iri)) for number in sorted(known)),
    )
    return Statements(((Syntax.RDFA, entity),))


def book(by: Author) -> Statements:
    german = by.item.language == "de"
    entity = by.about(
        "Book",
        ("author", by.some_person()),
        ("isbn", by.text("978-3-{10000-99999}-{100-999}-{0-9}")),
        ("numberOfPages", Number(by.draw.between(64, 900))),
        ("datePublished", by.day("{1960-2024}-{1-12:02d}-01")),
        ("genre", by.text("{Roman|Reisebericht|Atlas|Lyrik|Fachbuch}" if german else "{novel|atlas|poetry|handbook}")),
        ("inLanguage", Plain(by.item.language)),
        ("publisher", named("Organization", by.text("Verlag {coined}"))),
        ("dcterms:subject", by.text("{TOPICS}")),
        ("dcterms:extent", by.text("{1-4} Band")),
    )
    return Statements(((Syntax.RDFA, entity),))


def topic(by: Author) -> Statements:
    """RDFa for the article and JSON-LD for its breadcrumbs: many sites mix them."""
    item, origin = by.item, by.item.site.origin
    place = by.text("{TOWNS}")
    latitude = Plain(f"{by.draw.between(-60, 70)}.{by.draw.between(100, 999)}")
    longitude = Plain(f"{by.draw.between(-179, 179)}.{by.draw.between(100, 999)}")
    geo = Node("GeoCoordinates", (("latitude", latitude), ("longitude", longitude)))
    article = by.about(
        "Article",
        ("about", named("Place", place, ("geo", geo))),
        ("author", by.some_person()),
        ("dateModified", by.day("202{0-4}-{1-12:02d}-{1-28:02d}")),
        ("wordCount", Number(by.draw.between(300, 4000))),
    )
    steps = (("Home", f"{origin}/"), ("Topics", origin + item.site.kind.listing.format(k=1)), (item.name, item.url))
    crumbs = Node("BreadcrumbList", tuple(
        ("itemListElement", Node("ListItem", (("position", Number(place)), ("name", Plain(name)), ("item", At(url)))))
        for place, (name, url) in enumerate(steps, 1)
    ))  # fmt: skip
    return Statements(((Syntax.RDFA, article), (Syntax.JSONLD, crumbs)), by.social())


def post(by: Author) -> Statements:
    item = by.item
    said = (("name", Plain(item.name)), ("headline", Plain(item.name)), ("image", At(item.image)),
            ("author", by.some_person()), ("datePublished", by.day()),
            ("keywords", Plain(", ".join(by.draw.some(LISTS["topics"], 3)))), ("mainEntityOfPage", At(item.url)),
            ("commentCount", Number(by.draw.below(40))),
            ("publisher", named("Organization", Plain(item.site.title))))  # fmt: skip
    return Statements(((Syntax.JSONLD, Node("BlogPosting", said, item.iri)),), by.social("article")[:2])


def story(by: Author) -> Statements:
    """The same article in JSON-LD and, with the same IRI, in RDFa: what both say is one fact."""
    author, day = by.some_person(), by.day()
    machine = by.about("NewsArticle", ("headline", Plain(by.item.name)), ("datePublished", day), ("author", author),
                       ("articleSection", by.text("{Cultura|Ciudad|Deportes|Ciencia}")),
                       ("dateline", by.text("{TOWNS}")), ("isAccessibleForFree", Plain("true")))  # fmt: skip
    visible = by.about("NewsArticle", ("author", author), ("datePublished", day))
    social = (*by.social("article"), ("og:url", by.item.url))
    return Statements(((Syntax.RDFA, visible), (Syntax.JSONLD, machine)), social)


def chapter(_by: Author) -> Statements:
    """Documentation without structured data, like most of the web."""
    return NOTHING


def thread(by: Author) -> Statements:
    replies = [("comment", reply(by)) for _ in range(by.draw.between(1, 4))]
    entity = by.about("DiscussionForumPosting", ("author", by.some_person()), ("datePublished", by.day()), *replies)
    return Statements(((Syntax.MICRODATA, entity),))


def reply(by: Author) -> Node:
    advice = by.text("Try {coined} in {TOWNS}.")
    return Node("Comment", (("author", by.some_person()), ("dateCreated", by.day()), ("text", advice)))


def recipe(by: Author) -> Statements:
    steps = [
        by.text(f"{{Chop|Wash|Simmer|Fold in|Roast|Stir|Season}} the {what} for {{2-40}} minutes.")
        for what in by.draw.some(LISTS["ingredients"], by.draw.between(3, 5))
    ]
    needed = [by.text(f"{{UNITS}} {what}") for what in by.draw.some(LISTS["ingredients"], by.draw.between(4, 8))]
    entity = by.about(
        "Recipe",
        ("author", by.some_person()),
        ("datePublished", by.day("202{0-4}-{1-12:02d}-{1-28:02d}")),
        ("prepTime", by.text("PT{5-45}M")),
        ("cookTime", by.text("PT{5-120}M")),
        ("recipeYield", by.text("{2-8} servings")),
        ("recipeCategory", by.text("{starter|main course|dessert|side dish}")),
        *(("recipeIngredient", what) for what in needed),
        *(("recipeInstructions", Node("HowToStep", (("text", step),))) for step in steps),
    )
    return Statements(((Syntax.JSONLD, entity),), by.social("recipe"))


def event(by: Author) -> Statements:
    month, day = by.draw.between(1, 12), by.draw.between(1, 27)
    town, country = by.text("{TOWNS}"), by.text("{COUNTRIES}")
    address = Node("PostalAddress", (("addressLocality", town), ("addressCountry", country)))
    hall = named("Place", by.text("{HALLS}"), ("address", address))
    performers = [("performer", by.some_person()) for _ in range(by.draw.between(1, 2))]
    entity = by.about(
        "Event",
        ("startDate", Day(f"2026-{month:02d}-{day:02d}")),
        ("endDate", Day(f"2026-{month:02d}-{day + 1:02d}")),
        ("location", hall),
        *performers,
        ("offers", Node("Offer", (("price", by.text("{0-60}.00")), ("priceCurrency", Plain("EUR"))))),
        ("description", Plain(f"{by.item.name}: an evening for {fill(by.draw, '{noun} and {noun}')}.")),
    )
    return Statements(((Syntax.RDFA, entity),))


def product(by: Author) -> Statements:
    stars = Plain(f"{by.draw.between(20, 50) / 10}")
    rating = Node("AggregateRating", (("ratingValue", stars), ("reviewCount", Number(by.draw.between(1, 900)))))
    offer = Node("Offer", (
        ("price", by.text("{4-400}.{0-9}9")), ("priceCurrency", Plain("EUR")),
        ("availability", At(f"http://schema.org/{'InStock' if by.draw.happens(0.8) else 'OutOfStock'}")),
        ("url", At(by.item.url))))  # fmt: skip
    entity = by.about(
        "Product",
        ("sku", by.text("{100000-999999}")),
        ("brand", named("Brand", Plain(by.item.name.split()[0]))),
        ("offers", offer),
        ("aggregateRating", rating),
        ("color", by.text("{COLOURS}")),
        ("material", by.text("{MATERIALS}")),
        ("description", by.text(f"A {{adj}} <{by.item.name}> for {{noun}} & more.")),
    )
    return Statements(((Syntax.JSONLD, entity),), by.social("product")[:2])


def dataset(by: Author) -> Statements:
    item = by.item
    formats = by.draw.some(("csv", "json", "xlsx", "parquet", "ttl"), by.draw.between(2, 4))
    entity = by.about(
        "Dataset",
        ("dcterms:issued", by.day("20{10-25}-{1-12:02d}-01")),
        ("dcterms:publisher", named("Organization", by.text("City of {TOWNS}"))),
        ("dcterms:license", At(f"{item.site.origin}/#licence")),
        *(("dcat:keyword", Plain(word)) for word in by.draw.some(LISTS["measures"], by.draw.between(2, 4))),
        *(("distribution", Node("DataDownload", (
            ("encodingFormat", Plain(form)), ("contentUrl", Plain(f"{item.url}.{form}"))))) for form in formats),
        ("spatialCoverage", named("Place", by.text("{TOWNS}"))),
    )  # fmt: skip
    return Statements(((Syntax.RDFA, entity),))


DESCRIPTIONS = {
    "museum": artwork,
    "people": person,
    "recipes": recipe,
    "events": event,
    "library": book,
    "shop": product,
    "blog": post,
    "news": story,
    "encyclopedia": topic,
    "docs": chapter,
    "forum": thread,
    "opendata": dataset,
}
"""By kind of site: what its items state."""
KINDS = msgspec.toml.decode((packaged("gossamer.demo") / "sites.toml").read_bytes(), type=dict[str, tuple[Genre, ...]])[
    "kinds"
]
RING = len(KINDS)
