"""What a page states, its markup (RDFa, Microdata, JSON-LD), its frame, and its HTTP response."""

import gzip
from collections.abc import Iterator, Sequence
from enum import StrEnum
from html import escape
from importlib.resources import files as packaged
from itertools import count
from typing import NamedTuple

import brotli
import msgspec
import xxhash

from gossamer.base.clock import Instant

SCHEMA = "http://schema.org/"
PREFIXES = {
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "og": "http://ogp.me/ns#",
}
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
USES_VOCABULARY = "http://www.w3.org/ns/rdfa#usesVocabulary"
XSD = "http://www.w3.org/2001/XMLSchema#"
COERCED_TO_IRIS = frozenset({"url", "image", "sameAs"})
"""Properties whose strings are IRIs by schema.org's JSON-LD context (of those used here)."""


class Plain(NamedTuple):
    words: str


class Day(NamedTuple):
    day: str
    """`2026-03-21`."""


class At(NamedTuple):
    """An IRI."""

    iri: str


class Number(NamedTuple):
    number: int


class Node(NamedTuple):
    type: str
    says: "tuple[tuple[str, Value], ...]"
    iri: str = ""
    """Absolute; empty for a blank node."""


Value = Plain | Day | At | Number | Node


class Syntax(StrEnum):
    """How an entity is written into its page."""

    RDFA = "rdfa"
    JSONLD = "json-ld"
    MICRODATA = "microdata"


class Statements(NamedTuple):
    """Everything a page states; the first entity is its subject."""

    entities: tuple[tuple[Syntax, Node], ...] = ()
    social: tuple[tuple[str, str], ...] = ()
    """`og:` properties, which are RDFa."""

    def stated_in(self, syntax: Syntax) -> tuple[Node, ...]:
        return tuple(entity for way, entity in self.entities if way is syntax)


NOTHING = Statements()
Fact = tuple[str, str, str]


class FactCounts(NamedTuple):
    """Distinct triples of a page, in total and by syntax."""

    facts: int = 0
    """By all syntaxes, without duplicates."""
    rdfa: int = 0
    jsonld: int = 0
    microdata: int = 0


def iri_of(name: str) -> str:
    """The IRI of a property or class: schema.org's, unless the name has the prefix of another vocabulary."""
    prefix, colon, local = name.partition(":")
    return PREFIXES[prefix] + local if colon else SCHEMA + name


_DECLARED = " ".join(f"{prefix}: {iri}" for prefix, iri in PREFIXES.items() if prefix != "og")
DOMAIN = "demo.test"
LABELS = {"artMedium": "Medium", "dateCreated": "Made", "foaf:knows": "Knows", "numberOfPages": "Pages", "isbn": "ISBN"}


def counts_of(statements: Statements, page: str, language: str) -> FactCounts:
    """No two entities share a blank node, so the sets can be united."""
    rdfa, jsonld, microdata = (facts_in(syntax, statements, page, language) for syntax in Syntax)
    return FactCounts(len(rdfa | jsonld | microdata), len(rdfa), len(jsonld), len(microdata))


def facts_in(syntax: Syntax, statements: Statements, page: str, language: str) -> set[Fact]:
    entities = statements.stated_in(syntax)
    facts: set[Fact] = set()
    if syntax is Syntax.RDFA:
        facts |= {(page, iri_of(name), _literal(value, language)) for name, value in statements.social}
        facts |= {(page, USES_VOCABULARY, SCHEMA)} if entities else set()
    labels = (f"_:{syntax}{number}" for number in count())
    for entity in entities:
        facts |= _facts_of(entity, syntax, language, labels)[1]
    return facts


def _facts_of(entity: Node, syntax: Syntax, language: str, labels: Iterator[str]) -> tuple[str, set[Fact]]:
    subject = entity.iri or next(labels)
    facts = {(subject, TYPE, iri_of(entity.type))}
    for name, value in entity.says:
        if isinstance(value, Node):
            found, below = _facts_of(value, syntax, language, labels)
            facts |= below
        else:
            found = _term(name, value, syntax, language)
        facts.add((subject, iri_of(name), found))
    return subject, facts


def _term(name: str, value: Plain | Day | At | Number, syntax: Syntax, language: str) -> str:
    is_jsonld = syntax is Syntax.JSONLD
    match value:
        case At(iri):
            return iri
        case Day(day):
            return _literal(day, of_type=SCHEMA + "Date" if is_jsonld else XSD + "date")
        case Number(number) if is_jsonld:
            return _literal(str(number), of_type=XSD + "integer")
        case Plain(words) if is_jsonld and name in COERCED_TO_IRIS:
            return words
        case Number(words) | Plain(words):
            return _literal(str(words), "" if is_jsonld else language)


def _literal(said: str, language: str = "", of_type: str = "") -> str:
    tail = f"@{language}" if language else f"^^<{of_type}>" if of_type else ""
    return f'"{said}"{tail}'


def box(entity: Node, syntax: Syntax | None) -> str:
    """The fact box of the page's subject: heading and list, with the markup of `syntax` (None: none)."""
    about = _opening(entity, syntax, "")
    vocabulary = f' vocab="{SCHEMA}" prefix="{_DECLARED}"' if syntax is Syntax.RDFA else ""
    rows = "\n".join(
        f"<dt>{LABELS.get(name) or name.rpartition(':')[2].capitalize()}</dt><dd>{_value(name, value, syntax)}</dd>"
        for name, value in entity.says
        if name != "name"
    )
    title = next((value.words for name, value in entity.says if name == "name" and isinstance(value, Plain)), "")
    heading = f"<h1{_property(syntax, 'name')}>{escape(title)}</h1>\n" if title else ""
    return f'<section class="facts"{vocabulary}{about}>\n{heading}<dl>\n{rows}\n</dl>\n</section>'


def _value(name: str, value: Value, syntax: Syntax | None) -> str:
    attribute = _property(syntax, name)
    match value:
        case Plain(words):
            return f"<span{attribute}>{escape(words)}</span>"
        case Number(number):
            return f"<b{attribute}>{number}</b>"
        case Day(day):
            return f'<time{attribute} datetime="{day}">{day}</time>'
        case At(iri) if iri.endswith(".svg"):
            return f'<img{attribute} src="{escape(iri)}" alt="" width="320" height="240">'
        case At(iri) if syntax is None and f".{DOMAIN}/" not in iri:
            return f"<span>{escape(iri)}</span>"  # no link leads out of the demonstration web
        case At(iri):
            return f'<a{attribute} href="{escape(iri)}">{escape(iri)}</a>'
        case Node(_, says, iri):
            inner = ", ".join(_value(name, value, syntax) for name, value in says)
            link = f' <a href="{escape(iri.partition("#")[0])}">more</a>' if iri else ""
            return f'<span class="part"{_opening(value, syntax, attribute)}>{inner}{link}</span>'


def _opening(entity: Node, syntax: Syntax | None, attribute: str) -> str:
    iri = escape(entity.iri)
    match syntax:
        case Syntax.RDFA:
            return f'{attribute} typeof="{entity.type}"' + (f' resource="{iri}"' if iri else "")
        case Syntax.MICRODATA:
            return f'{attribute} itemscope itemtype="{iri_of(entity.type)}"' + (f' itemid="{iri}"' if iri else "")
        case _:
            return ""


def _property(syntax: Syntax | None, name: str) -> str:
    attributes = {Syntax.RDFA: "property", Syntax.MICRODATA: "itemprop"}
    return f' {attributes[syntax]}="{name}"' if syntax in attributes else ""


def _json(entity: Node) -> str:
    body = {"@context": "https://schema.org", **_object(entity)}
    # `</script>` inside a string must not end the element.
    return msgspec.json.encode(body).decode().replace("</", "<\\/")


def _object(entity: Node) -> dict[str, object]:
    made: dict[str, object] = {"@type": entity.type}
    if entity.iri:
        made["@id"] = entity.iri
    for name, value in entity.says:
        new = _plain(name, value)
        if name not in made:
            made[name] = new
        else:
            old = made[name]
            made[name] = [*old, new] if isinstance(old, list) else [old, new]
    return made


def _plain(name: str, value: Value) -> object:
    match value:
        case Plain(words):
            return words
        case Number(number):
            return number
        case Day(day):
            return day
        case At(iri):
            return iri if name in COERCED_TO_IRIS else {"@id": iri}
        case Node():
            return _object(value)


NavLink = tuple[str, str]
"""The target of a link, and its text."""


class PageFrame(NamedTuple):
    """What surrounds the content of a page."""

    site_title: str
    motto: str
    navigation: Sequence[NavLink] = ()
    aside: Sequence[NavLink] = ()
    footer: Sequence[NavLink] = ()
    head: str = ""
    """Further elements for the head."""


class Leaf(NamedTuple):
    """The content of a page."""

    title: str
    language: str
    body: str
    statements: Statements = NOTHING
    description: str = ""


_STYLE, _SCRIPT = ((packaged("gossamer.demo") / name).read_text("utf-8").strip() for name in ("page.css", "page.js"))


def framed(leaf: Leaf, frame: PageFrame) -> str:
    """The whole page."""
    statements = leaf.statements
    subject = ""
    if statements.entities:
        syntax, entity = statements.entities[0]
        subject = box(entity, None if syntax is Syntax.JSONLD else syntax)
    title = escape(leaf.title)
    heading = "" if "<h1" in subject else f"<h1>{title}</h1>\n"
    prefix = ' prefix="og: http://ogp.me/ns#"' if statements.social else ""
    social = "\n".join(f'<meta property="{name}" content="{escape(value)}">' for name, value in statements.social)
    scripts = "\n".join(
        f'<script type="application/ld+json">{_json(entity)}</script>' for entity in statements.stated_in(Syntax.JSONLD)
    )
    return f"""<!DOCTYPE html>
<html lang="{leaf.language}">
<head{prefix}>
<meta charset="utf-8">
<title>{title} - {escape(frame.site_title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{escape(leaf.description or leaf.title)}">
{social}
<link rel="stylesheet" href="/style.css">
{frame.head}<style>{_STYLE}</style>
{scripts}
</head>
<body>
<header><p class="site"><a href="/">{escape(frame.site_title)}</a></p><p class="motto">{escape(frame.motto)}</p>
<nav id="menu"><ul>
{list_items(frame.navigation)}
</ul></nav></header>
<main>
<article>
{heading}{subject}
{leaf.body}
</article>
<aside><h2>See also</h2><ul>
{list_items(frame.aside)}
</ul></aside>
</main>
<footer><ul>
{list_items(frame.footer)}
</ul><p>{escape(frame.site_title)}: all places, people and things here are made up.</p></footer>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def list_items(links: Sequence[NavLink]) -> str:
    return "\n".join([f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links])


HTML = "text/html; charset=utf-8"
CHANGED = "Wed, 01 Jan 2025 08:00:00 GMT"
REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone",
    421: "Misdirected Request", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


class DemoRequest(NamedTuple):
    """What the response to a request depends on."""

    host: str
    target: str
    codings: str = ""
    """Accept-Encoding, as sent."""
    known: str = ""
    """If-None-Match, as sent."""
    asked_before: int = 0
    """How often this URL was requested before; counted only for hosts whose answers change."""
    now: Instant = 0
    """The time of the request, for a changing web."""


class DemoAnswer(NamedTuple):
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    repeats: int = 1
    """The body is sent this many times, so that very long pages need no memory."""
    wait_s: float = 0.0
    is_cut: bool = False
    """The connection is closed in the middle of the body."""
    is_chunked: bool = False


def page(
    html: str, question: DemoRequest, coding: str = "", is_chunked: bool = False, changed: str | None = CHANGED
) -> DemoAnswer:
    """The response with a page: compressed if client and site agree, with validators; 304 if it is unchanged."""
    body = html.encode()
    etag = f'"{xxhash.xxh3_64_hexdigest(body)}"'
    validators = (*((("Last-Modified", changed),) if changed is not None else ()), ("ETag", etag))
    if question.known and etag in question.known:
        return DemoAnswer(304, validators)
    headers = (("Content-Type", HTML), *validators)
    if coding and coding in question.codings:
        return DemoAnswer(200, (*headers, ("Content-Encoding", coding)), coded(body, coding), is_chunked=is_chunked)
    return DemoAnswer(200, headers, body, is_chunked=is_chunked)


def coded(body: bytes, coding: str) -> bytes:
    return gzip.compress(body, 6, mtime=0) if coding == "gzip" else bytes(brotli.compress(body, quality=4))


def plain(text: str, media_type: str, status: int = 200) -> DemoAnswer:
    return DemoAnswer(status, (("Content-Type", media_type),), text.encode())


def moved(to: str, status: int = 301) -> DemoAnswer:
    return DemoAnswer(status, (("Location", to), ("Content-Type", HTML)), f'<a href="{to}">moved</a>'.encode())


def missing(status: int = 404) -> DemoAnswer:
    return plain(f"<!DOCTYPE html><title>{status}</title><h1>{REASONS[status]}</h1>", HTML, status)
