"""The twelve kinds of site: their names, their URLs, and what their items state."""

from gossamer.demo import words
from gossamer.demo.pages import NOTHING, At, Day, Node, Number, Plain, Statements, Syntax
from gossamer.demo.sites import Genre, Topic, World, about, somebody, texts
from gossamer.demo.words import GERMAN, Draw, coined, person_name


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


_FRENCH_POSTS = ("Promenade à", "Une journée à", "Retour de", "Carnet de", "Lettres de", "Un hiver à")
_SPANISH_NEWS = ("Abre sus puertas el mercado de", "Nuevo puente en", "Fiesta de otoño en", "El tren vuelve a",
                 "Restauran la torre de", "Gran regata en", "Descubren un mapa antiguo en")  # fmt: skip


def day_of(draw: Draw) -> str:
    return f"202{draw.below(6)}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"


def post_name(draw: Draw, _language: str) -> str:
    return f"{draw.one(_FRENCH_POSTS)} {draw.one(words.TOWNS)} ({draw.one(words.COLOURS).lower()})"


def post(world: World, item: Topic, draw: Draw) -> Statements:
    said = (("name", Plain(item.name)), ("headline", Plain(item.name)), ("image", At(item.image)),
            ("author", somebody(world, item, draw)), ("datePublished", Day(day_of(draw))),
            ("keywords", Plain(", ".join(draw.some(words.TOPICS, 3)))), ("mainEntityOfPage", At(item.url)),
            ("commentCount", Number(draw.below(40))),
            ("publisher", Node("Organization", (("name", Plain(item.site.title)),))))  # fmt: skip
    return Statements(
        ((Syntax.JSONLD, Node("BlogPosting", said, item.address)),), (("og:title", item.name), ("og:type", "article"))
    )


def story_name(draw: Draw, _language: str) -> str:
    return f"{draw.one(_SPANISH_NEWS)} {draw.one(words.TOWNS)}"


def story(world: World, item: Topic, draw: Draw) -> Statements:
    """The same article in JSON-LD and, with the same address, in RDFa: what both say is one fact."""
    author, day = somebody(world, item, draw), day_of(draw)
    machine = about(item, "NewsArticle", ("headline", Plain(item.name)), ("datePublished", Day(day)),
                    ("author", author),
                    ("articleSection", Plain(draw.one(("Cultura", "Ciudad", "Deportes", "Ciencia")))),
                    ("dateline", Plain(draw.one(words.TOWNS))), ("isAccessibleForFree", Plain("true")))  # fmt: skip
    visible = about(item, "NewsArticle", ("author", author), ("datePublished", Day(day)))
    social = (("og:title", item.name), ("og:type", "article"), ("og:image", item.image), ("og:url", item.url))
    return Statements(((Syntax.RDFA, visible), (Syntax.JSONLD, machine)), social)


def chapter_name(draw: Draw, _language: str) -> str:
    return f"How to {draw.one(words.COMMANDS)} {coined(draw)} {draw.between(1, 9)}.{draw.below(20)}"


def chapter(_world: World, _item: Topic, _draw: Draw) -> Statements:
    """Documentation without any structured data: most of the web is like that."""
    return NOTHING


def thread_name(draw: Draw, _language: str) -> str:
    asked = draw.one(
        ("Where to find", "Anyone tried", "Best way to clean", "Who repairs", "Question about", "Selling my")
    )
    return f"{asked} {draw.one(words.COLOURS).lower()} {draw.one(words.GOODS)} in {draw.one(words.TOWNS)}?"


def thread(world: World, item: Topic, draw: Draw) -> Statements:
    answers = [("comment", reply(world, item, draw)) for _ in range(draw.between(1, 4))]
    thing = about(
        item,
        "DiscussionForumPosting",
        ("author", somebody(world, item, draw)),
        ("datePublished", Day(day_of(draw))),
        *answers,
    )
    return Statements(((Syntax.MICRODATA, thing),))


def reply(world: World, item: Topic, draw: Draw) -> Node:
    advice = f"Try {coined(draw)} in {draw.one(words.TOWNS)}."
    by = somebody(world, item, draw)
    return Node("Comment", (("author", by), ("dateCreated", Day(day_of(draw))), ("text", Plain(advice))))


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


EN, DE, FR, ES, JA = "en", "de", "fr", "es", "ja"

KINDS = (
    Genre("museum", "Harbour Museum", "Works of art from nine centuries", (EN,), "/objects/{slug}-{n}",
         "/objects/page/{k}", artwork_name, artwork),
    Genre("people", "Who Was There", "Makers, players, writers and the rest of us", (EN,), "/people/{n}/{slug}",
         "/people/all/{k}", who, person),
    Genre("recipes", "The Long Table", "What to cook tonight", (EN, EN, FR), "/recipe/{slug}.{n}.html",
         "/recipes/{k}.html", recipe_name, recipe, coding="gzip"),
    Genre("events", "Out Tonight", "Concerts, lectures and fairs", (EN,), "/event/{n}-{slug}",
         "/events?page={k}", event_name, event),
    Genre("library", "Stadtbibliothek am Kai", "Bücher, Karten, Zeitschriften", (DE, DE, DE, EN), "/titel/{n}/{slug}",
         "/katalog/{k}", book_name, book),
    Genre("shop", "Good Things", "Made to be kept", (EN,), "/p/{slug}?id={n}",
         "/shop?list={k}", product_name, product),
    Genre("blog", "Carnets de route", "Notes et promenades", (FR,), "/billets/{slug}-{n}/",
         "/archives/{k}/", post_name, post),
    Genre("news", "El Correo del Puerto", "Noticias de hoy", (ES,), "/noticias/{n}/{slug}.html",
         "/portada/{k}", story_name, story, coding="gzip"),
    Genre("encyclopedia", "Open Compendium", "What is known, and by whom", (EN, EN, EN, JA), "/wiki/{slug}_{n}",
         "/wiki/Index:{k}", topic_name, topic),
    Genre("docs", "Handbooks", "Guides and references", (EN,), "/docs/{n}/{slug}.html",
         "/docs/contents-{k}.html", chapter_name, chapter, coding="br"),
    Genre("forum", "The Workbench Forum", "Ask, answer, repair", (EN,), "/thread.php?t={n}",
         "/forum.php?page={k}", thread_name, thread, is_chunked=True),
    Genre("opendata", "City Open Data", "Counted, published, free to use", (EN,), "/dataset/{slug}-{n}",
         "/datasets/{k}", dataset_name, dataset),
)  # fmt: skip
