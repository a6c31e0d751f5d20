"""Recipes, events, the shop, and open data."""

from gossamer.demo import words
from gossamer.demo.draw import Draw
from gossamer.demo.sites import Topic, World, about, somebody, texts
from gossamer.demo.things import At, Day, Node, Number, Plain, Statements, Syntax

_KITCHEN_VERBS = ("Chop", "Wash", "Simmer", "Fold in", "Roast", "Stir", "Season")
_FRENCH_DISHES = ("Soupe", "Tarte", "Gratin", "Salade", "Potage", "Galette", "Ragoût")
_FRENCH_THINGS = ("poireaux", "potiron", "champignons", "lentilles", "noisettes", "épinards", "pommes", "châtaignes")


def recipe_name(draw: Draw, language: str) -> str:
    if language == "fr":
        return f"{draw.one(_FRENCH_DISHES)} aux {draw.one(_FRENCH_THINGS)} de {draw.one(words.TOWNS)}"
    first, second = draw.some(words.INGREDIENTS, 2)
    return f"{first.capitalize()} and {second} {draw.one(words.DISHES)}"


def recipe(world: World, item: Topic, draw: Draw) -> Statements:
    steps = [
        f"{draw.one(_KITCHEN_VERBS)} the {thing} for {draw.between(2, 40)} minutes."
        for thing in draw.some(words.INGREDIENTS, draw.between(3, 5))
    ]
    needed = [f"{draw.one(words.UNITS)} {what}" for what in draw.some(words.INGREDIENTS, draw.between(4, 8))]
    thing = about(
        item,
        "Recipe",
        ("author", somebody(world, item, draw)),
        ("datePublished", Day(f"202{draw.below(5)}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}")),
        ("prepTime", Plain(f"PT{draw.between(5, 45)}M")),
        ("cookTime", Plain(f"PT{draw.between(5, 120)}M")),
        ("recipeYield", Plain(f"{draw.between(2, 8)} servings")),
        ("recipeCategory", Plain(draw.one(("starter", "main course", "dessert", "side dish")))),
        *texts("recipeIngredient", needed),
        *(("recipeInstructions", Node("HowToStep", (("text", Plain(step)),))) for step in steps),
    )  # fmt: skip
    return Statements(
        ((Syntax.JSONLD, thing),), (("og:title", item.name), ("og:type", "recipe"), ("og:image", item.image))
    )


def event_name(draw: Draw, _language: str) -> str:
    return f"{draw.one(words.TOWNS)} {draw.one(words.EVENTS)} {draw.between(2024, 2027)}"


def event(world: World, item: Topic, draw: Draw) -> Statements:
    month, day = draw.between(1, 12), draw.between(1, 27)
    town, country = Plain(draw.one(words.TOWNS)), Plain(draw.one(words.COUNTRIES))
    address = Node("PostalAddress", (("addressLocality", town), ("addressCountry", country)))
    hall = Node("Place", (("name", Plain(draw.one(words.HALLS))), ("address", address)))
    performers = [("performer", somebody(world, item, draw)) for _ in range(draw.between(1, 2))]
    thing = about(
        item,
        "Event",
        ("startDate", Day(f"2026-{month:02d}-{day:02d}")),
        ("endDate", Day(f"2026-{month:02d}-{day + 1:02d}")),
        ("location", hall),
        *performers,
        ("offers", Node("Offer", (("price", Plain(f"{draw.between(0, 60)}.00")), ("priceCurrency", Plain("EUR"))))),
        ("description", Plain(f"{item.name}: an evening for {draw.one(words.NOUNS)} and {draw.one(words.NOUNS)}.")),
    )
    return Statements(((Syntax.RDFA, thing),))


def product_name(draw: Draw, _language: str) -> str:
    return f"{draw.one(words.BRANDS)} {draw.one(words.COLOURS)} {draw.one(words.GOODS)} {draw.between(10, 990)}"


def product(_world: World, item: Topic, draw: Draw) -> Statements:
    stars = Plain(f"{draw.between(20, 50) / 10}")
    rating = Node("AggregateRating", (("ratingValue", stars), ("reviewCount", Number(draw.between(1, 900)))))
    offer = Node("Offer", (
        ("price", Plain(f"{draw.between(4, 400)}.{draw.below(10)}9")), ("priceCurrency", Plain("EUR")),
        ("availability", At("http://schema.org/InStock" if draw.happens(0.8) else "http://schema.org/OutOfStock")),
        ("url", At(item.url))))  # fmt: skip
    thing = about(
        item,
        "Product",
        ("sku", Plain(f"{draw.between(100000, 999999)}")),
        ("brand", Node("Brand", (("name", Plain(item.name.split()[0])),))),
        ("offers", offer),
        ("aggregateRating", rating),
        ("color", Plain(draw.one(words.COLOURS))),
        ("material", Plain(draw.one(words.MATERIALS))),
        ("description", Plain(f"A {draw.one(words.ADJECTIVES)} <{item.name}> for {draw.one(words.NOUNS)} & more.")),
    )  # fmt: skip
    return Statements(((Syntax.JSONLD, thing),), (("og:title", item.name), ("og:type", "product")))


def dataset_name(draw: Draw, _language: str) -> str:
    return f"{draw.one(words.MEASURES).capitalize()} in {draw.one(words.TOWNS)}, {draw.between(1990, 2025)}"


def dataset(_world: World, item: Topic, draw: Draw) -> Statements:
    formats = draw.some(("csv", "json", "xlsx", "parquet", "ttl"), draw.between(2, 4))
    thing = about(
        item,
        "Dataset",
        ("dcterms:issued", Day(f"20{draw.between(10, 25)}-{draw.between(1, 12):02d}-01")),
        ("dcterms:publisher", Node("Organization", (("name", Plain(f"City of {draw.one(words.TOWNS)}")),))),
        ("dcterms:license", At(f"{item.site.origin}/#licence")),
        *texts("dcat:keyword", draw.some(words.MEASURES, draw.between(2, 4))),
        *(("distribution", Node("DataDownload", (
            ("encodingFormat", Plain(form)), ("contentUrl", Plain(f"{item.url}.{form}"))))) for form in formats),
        ("spatialCoverage", Node("Place", (("name", Plain(draw.one(words.TOWNS))),))),
    )  # fmt: skip
    return Statements(((Syntax.RDFA, thing),))
