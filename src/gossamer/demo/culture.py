"""Museum, people, library and encyclopedia."""

from gossamer.demo import words
from gossamer.demo.draw import Draw
from gossamer.demo.prose import coined, person_name
from gossamer.demo.sites import Topic, World, about, somebody
from gossamer.demo.things import At, Day, Node, Number, Plain, Statements, Syntax
from gossamer.demo.tongues import GERMAN


def artwork_name(draw: Draw, _language: str) -> str:
    match draw.below(3):
        case 0:
            return f"The {draw.one(words.COLOURS)} {draw.one(words.MOTIFS)}"
        case 1:
            return f"{draw.one(words.MOTIFS)} at {draw.one(words.TOWNS)}"
        case _:
            return f"{draw.one(words.MOTIFS)} with {draw.one(words.COLOURS)} {draw.one(words.MOTIFS)}"


def artwork(world: World, item: Topic, draw: Draw) -> Statements:
    thing = about(
        item,
        "VisualArtwork",
        ("creator", somebody(world, item, draw)),
        ("dateCreated", Plain(str(draw.between(1480, 2015)))),
        ("artMedium", Plain(draw.one(words.MATERIALS))),
        ("artform", Plain(draw.one(("painting", "sculpture", "print", "textile", "drawing")))),
        ("width", Plain(f"{draw.between(12, 320)} cm")),
        ("height", Plain(f"{draw.between(12, 320)} cm")),
        ("locationCreated", Node("Place", (("name", Plain(draw.one(words.TOWNS))),))),
        ("description", Plain(f"{item.name}, {draw.one(words.ADJECTIVES)} and {draw.one(words.ADJECTIVES)}.")),
        ("identifier", Plain(f"HM-{draw.between(1000, 9999)}.{item.number}")),
    )  # fmt: skip
    return Statements(
        ((Syntax.RDFA, thing),), (("og:title", item.name), ("og:type", "article"), ("og:image", item.image))
    )


def who(draw: Draw, _language: str) -> str:
    return person_name(draw)


def person(world: World, item: Topic, draw: Draw) -> Statements:
    born = draw.between(1930, 2001)
    known = {draw.below(item.site.items) for _ in range(draw.between(2, 5))} - {item.number}
    friends = [world.item(item.site, number) for number in sorted(known)]
    town, country = draw.one(words.TOWNS), draw.one(words.COUNTRIES)
    house = f"{draw.one(words.TOWNS)} {draw.one(('Institute', 'Academy', 'Works', 'Press'))}"
    thing = about(
        item,
        "Person",
        ("jobTitle", Plain(draw.one(words.JOBS))),
        ("birthDate", Day(f"{born}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}")),
        ("birthPlace", Node("Place", (("name", Plain(town)), ("address", Plain(country))))),
        ("worksFor", Node("Organization", (("name", Plain(house)),))),
        ("nationality", Plain(draw.one(words.COUNTRIES))),
        ("foaf:nick", Plain(item.name.split()[0].lower() + str(born % 100))),
        *((("foaf:knows", At(friend.address))) for friend in friends),
    )  # fmt: skip
    return Statements(((Syntax.RDFA, thing),))


_GENRES = {
    "de": ("Roman", "Reisebericht", "Atlas", "Lyrik", "Fachbuch"),
    "en": ("novel", "atlas", "poetry", "handbook"),
}


def book_name(draw: Draw, language: str) -> str:
    if language == "de":
        opening = draw.one(("Das Buch der", "Kleine Geschichte der", "Die Kunst der", "Reise durch die"))
        return f"{opening} {draw.one(GERMAN.nouns)} von {draw.one(words.TOWNS)}"
    return f"A History of the {draw.one(words.MOTIFS)} in {draw.one(words.TOWNS)}"


def book(world: World, item: Topic, draw: Draw) -> Statements:
    thing = about(
        item,
        "Book",
        ("author", somebody(world, item, draw)),
        ("isbn", Plain(f"978-3-{draw.between(10000, 99999)}-{draw.between(100, 999)}-{draw.below(10)}")),
        ("numberOfPages", Number(draw.between(64, 900))),
        ("datePublished", Day(f"{draw.between(1960, 2024)}-{draw.between(1, 12):02d}-01")),
        ("genre", Plain(draw.one(_GENRES[item.language]))),
        ("inLanguage", Plain(item.language)),
        ("publisher", Node("Organization", (("name", Plain(f"Verlag {coined(draw)}")),))),
        ("dcterms:subject", Plain(draw.one(words.TOPICS))),
        ("dcterms:extent", Plain(f"{draw.between(1, 4)} Band")),
    )
    return Statements(((Syntax.RDFA, thing),))


def topic_name(draw: Draw, language: str) -> str:
    if language == "ja":
        first, second = draw.one(("古い", "静かな", "北の", "青い")), draw.one(("港", "灯台", "水車", "石橋", "市場"))
        return first + second + draw.one(("の歴史", "の物語", "と人々", "の地図"))
    return f"{draw.one(words.TOPICS)} of {draw.one(words.TOWNS)}"


def topic(world: World, item: Topic, draw: Draw) -> Statements:
    """RDFa for the article and JSON-LD for the crumbs above it: a mixture that many sites have."""
    article = about(
        item,
        "Article",
        ("about", Node("Place", (("name", Plain(draw.one(words.TOWNS))), ("geo", Node("GeoCoordinates", (
            ("latitude", Plain(f"{draw.between(-60, 70)}.{draw.between(100, 999)}")),
            ("longitude", Plain(f"{draw.between(-179, 179)}.{draw.between(100, 999)}")),
        )))))),
        ("author", somebody(world, item, draw)),
        ("dateModified", Day(f"202{draw.below(5)}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}")),
        ("wordCount", Number(draw.between(300, 4000))),
    )  # fmt: skip
    origin = item.site.origin
    steps = (("Home", f"{origin}/"), ("Topics", origin + item.site.kind.listing.format(k=1)), (item.name, item.url))
    crumbs = Node("BreadcrumbList", tuple(
        ("itemListElement", Node("ListItem", (("position", Number(place)), ("name", Plain(name)), ("item", At(url)))))
        for place, (name, url) in enumerate(steps, 1)
    ))  # fmt: skip
    return Statements(((Syntax.RDFA, article), (Syntax.JSONLD, crumbs)), (("og:title", item.name),))
