"""Blog, news, documentation and forum."""

from gossamer.demo import words
from gossamer.demo.draw import Draw
from gossamer.demo.prose import coined
from gossamer.demo.sites import Topic, World, about, somebody
from gossamer.demo.things import NOTHING, At, Day, Node, Number, Plain, Statements, Syntax

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
